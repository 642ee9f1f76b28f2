/** How a number of keys is called in tables. */
export function sizeName(keys: number): string {
  return keys === 1 ? 'hot key' : `${keys.toLocaleString('en')} keys`;
}

import { invalid } from '@floodgate/core/internal';

/** What {@link takeOptions} finds: one of the values that each option may have. */
type Taken<Allowed extends Readonly<Record<string, readonly unknown[]>>> = {
  readonly [Name in keyof Allowed]: Allowed[Name][number];
};

/**
 * Takes what is an adapter's own out of options: the `rest` is its limiter's. `allowed` lists the values of each, the
 * default first.
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` for any other value
 */
export function takeOptions<
  Options extends object,
  const Allowed extends Readonly<Record<string, readonly unknown[]>>,
>(options: Options, allowed: Allowed): Taken<Allowed> & { readonly rest: Options } {
  const rest = { ...options } as Record<string, unknown>;
  const taken: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(allowed)) {
    const { [name]: value = values[0] } = rest;
    if (!values.includes(value)) {
      const known = values.map((one) => (typeof one === 'string' ? `'${one}'` : one));
      throw invalid('FLOODGATE_INVALID_OPTION', name, known.join(' or '), value);
    }
    taken[name] = value;
    delete rest[name];
  }
  return { ...taken, rest } as Taken<Allowed> & { readonly rest: Options };
}

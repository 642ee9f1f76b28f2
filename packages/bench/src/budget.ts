/** What we want of ourselves, and what was measured: told, never enforced, since machines and moments differ. */
export interface Budget {
  /** What is measured, with its unit. */
  readonly claim: string;
  readonly atMost: number;
  readonly measured: number;
  readonly met: boolean;
}

export function budget(claim: string, atMost: number, measured: number): Budget {
  return { claim, atMost, measured, met: measured <= atMost };
}

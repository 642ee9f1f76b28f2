import { invalid } from '@floodgate/core/internal';

// What several options have to be alike. Each throws where the value is something else; left out is all right.

const CODE = 'FLOODGATE_INVALID_OPTION';

export function checkStatus(value: unknown, option: string): void {
  if (value === undefined) return;
  if (Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599) return;
  throw invalid(CODE, option, 'a whole number from 400 to 599', value);
}

export function checkBoolean(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalid(CODE, option, 'true or false', value);
  }
}

export function checkFunction(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== 'function') {
    throw invalid(CODE, option, 'a function', value);
  }
}

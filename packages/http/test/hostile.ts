import fc from 'fast-check';

/** Any JavaScript string, halves of characters included. */
export const anyText: fc.Arbitrary<string> = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 100, size: 'max' })
  .map((units) => String.fromCharCode(...units));

/** Texts made of what keys, stores and encodings give a meaning to. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        ...':|%#{}()/ \n\r\t\0*?[]\\"\'',
        'a',
        'A',
        '%7C',
        '%u0041',
        'user:',
        'ip:',
        'combined:#',
        '\u00e9',
        'e\u0301',
        '\ud800',
        '\udfff',
        '\u{1f600}',
      ),
      { minLength: 1, maxLength: 12, size: 'max' },
    )
    .map((parts) => parts.join('')),
  anyText,
);

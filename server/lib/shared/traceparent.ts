// The header `traceparent` (W3C Trace Context): sends the place of a span in its trace to another process. Pure.

export interface SpanPlace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** The trace is recorded. */
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?$/;
const maxLength = 256;

/** Undefined for anything but exactly one valid value: the standard ignores such a header. */
export function parseTraceparent(text: string | undefined): SpanPlace | undefined {
  if (text === undefined || text.length > maxLength) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text) ?? [];
  // Later versions may have more at the end; ff is no version.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const renderTraceparent = ({ traceId, spanId, isSampled }: SpanPlace): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

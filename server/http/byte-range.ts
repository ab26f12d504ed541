// Reads the Range header of a download (RFC 9110): one range of bytes, or none that this server serves. Pure.

export interface ByteRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** Undefined: send everything, also for several ranges, other units, and ranges beyond the size. */
export function rangeOf(header: string | undefined, size: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return first <= last ? { first, last } : undefined;
}

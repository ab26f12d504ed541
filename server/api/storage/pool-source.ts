// Whether a storage pool was made from a source. Servers rewrite the source of a pool after its creation and store the original beside it.

const withoutSlash = (path: string): string => path.replaceAll(/\/+/g, '/').replace(/(.)\/$/, '$1');

/** `config`: that of the live pool. A UUID without the original source does not identify the source. */
export function isMadeFrom(config: Readonly<Record<string, string>>, source: string): boolean {
  const { source: now = '', 'volatile.initial_source': first = '' } = config;
  if ([now, first].some((each) => withoutSlash(each) === withoutSlash(source))) return true;
  return first === '' && (now === '' || /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(now));
}

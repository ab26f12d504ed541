// The message of a commit that pins newer images. Pure.

const longest = 200;

/** `message`: from gantry.yaml. The body names one image per line, without control characters. */
export function imageCommit(
  set: string | undefined,
  message: string | undefined,
  before: ReadonlyMap<string, string>,
  changed: readonly (readonly [key: string, fingerprint: string])[],
  dropped: readonly string[] = [],
): string {
  const keys = [...changed.map(([key]) => key), ...dropped];
  const what = keys.length === 1 ? `image ${keys[0]}` : `${keys.length} images`;
  const title = plain(message ?? `Update ${what}${set === undefined ? '' : ` of ${set}`}`);
  const lines = changed.map(([key, fingerprint]) => {
    const from = before.get(key);
    return plain(`${key}: ${from === undefined ? '' : `${from.slice(0, 12)} -> `}${fingerprint.slice(0, 12)}`);
  });
  lines.push(...dropped.map((key) => plain(`${key}: no longer used`)));
  return `${title}\n\n${lines.join('\n')}\n`;
}

const plain = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, longest);

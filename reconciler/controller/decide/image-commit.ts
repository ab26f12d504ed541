// The message of a commit that pins newer images. Pure.

const longest = 200;

/** `message`: of gantry.yaml. The body names every image, one a line, without control characters. */
export function imageCommit(
  set: string,
  message: string | undefined,
  before: ReadonlyMap<string, string>,
  changed: readonly (readonly [key: string, fingerprint: string])[],
): string {
  const [only] = changed;
  const what = changed.length === 1 && only !== undefined ? `image ${only[0]}` : `${changed.length} images`;
  const title = plain(message ?? `Update ${what} of ${set}`);
  const lines = changed.map(([key, fingerprint]) => {
    const from = before.get(key);
    return plain(`${key}: ${from === undefined ? '' : `${from.slice(0, 12)} -> `}${fingerprint.slice(0, 12)}`);
  });
  return `${title}\n\n${lines.join('\n')}\n`;
}

const plain = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, longest);

// A revision, cut to what people compare; the whole one is behind it.
export function Revision({ revision }: { readonly revision: string | undefined }) {
  if (revision === undefined) return <span class="soft">none</span>;
  return (
    <code class="revision" title={revision}>
      {shortRevision(revision)}
    </code>
  );
}

/** Commits and digests are long and of hexadecimal digits; other names stay whole. */
export function shortRevision(revision: string): string {
  const digits = revision.replace(/^sha\d+:/, '');
  return /^[0-9a-f]{12,}$/.test(digits) ? digits.slice(0, 8) : revision;
}

// A revision in short, with the full one as a tooltip.
export function Revision({ revision }: { readonly revision: string | undefined }) {
  if (revision === undefined) return <span class="soft">none</span>;
  return (
    <code class="revision" title={revision}>
      {shortRevision(revision)}
    </code>
  );
}

/** Shortens commits and digests, which are long hexadecimal numbers; other names stay as they are. */
export function shortRevision(revision: string): string {
  const digits = revision.replace(/^sha\d+:/, '');
  return /^[0-9a-f]{12,}$/.test(digits) ? digits.slice(0, 8) : revision;
}

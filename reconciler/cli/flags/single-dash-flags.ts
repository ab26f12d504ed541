// Accepts Terraform's single-dash long flags (`-auto-approve`, `-target=x`) by giving them their second dash. Pure.

/** `known`: names of long flags without dashes. Everything after `--` and every unknown word stays as it is. */
export function normalizeArgv(argv: readonly string[], known: ReadonlySet<string>): readonly string[] {
  const end = argv.indexOf('--');
  return argv.map((word, index) => {
    if (end !== -1 && index > end) return word;
    const name = /^-([a-z][a-z-]+)(?:=|$)/.exec(word)?.[1];
    return name !== undefined && known.has(name) ? `-${word}` : word;
  });
}

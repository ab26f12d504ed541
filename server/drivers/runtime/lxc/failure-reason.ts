// Finds the reason of a failure in LXC's log and error output. Pure.

/** `lxc-start NAME TIME ERROR  module - file.c:function:line - text` -> text of the first error, else the last line of stderr. */
export function firstReason(log: string, stderr: string): string {
  for (const line of log.split('\n')) {
    const match = / (?:ERROR|ALERT|CRIT|FATAL)\s+\S+ - \S+:\d+ - (.*)$/.exec(line);
    if (match?.[1] !== undefined) return match[1].trim();
  }
  const lines = stderr
    .split('\n')
    .map((line) => line.replace(/^lxc-\w+: [^:]*: \S+: \S+: \d+ /, '').trim())
    .filter((line) => line !== '');
  return lines[0] ?? 'LXC gave no reason';
}

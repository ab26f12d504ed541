// The message of any thrown value, alone or with those of its causes.

/** `error.message`, or the text of a value that is no Error. `errorText` includes the causes. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The chain of messages of an error, outermost first, joined by ": ". */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  while (current instanceof Error && parts.length < 8) {
    if (current.message !== '') parts.push(current.message);
    current = current.cause;
  }
  if (parts.length === 0) parts.push(String(error));
  return parts.join(': ');
}

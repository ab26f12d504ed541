// The message of any thrown value.

/** `error.message`, or the text of a value that is no Error. For the messages of its causes too, see `errorText` in log.ts. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

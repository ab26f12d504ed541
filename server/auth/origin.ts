// Decides which browser requests for web pages are accepted. Programs send no Origin. Pure.

export interface OriginFacts {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** The request changes something, or opens a stream. Otherwise the answer is harmless, since the browser hides it from the page. */
  readonly isEffective: boolean;
  /** core.https_allowed_origin: one origin, `*`, or empty. */
  readonly allowed: string;
}

/** The reason for a refusal; undefined if the request is accepted. Websocket client libraries send the server itself as their origin. */
export function originProblem({ origin, host, isEffective, allowed }: OriginFacts): string | undefined {
  if (origin === undefined || origin === '' || !isEffective) return undefined;
  if (allowed === '*' || (allowed !== '' && trimmed(allowed) === trimmed(origin))) return undefined;
  if (host !== undefined && placeOf(origin) === placeOf(`https://${host}`)) return undefined;
  return (
    `the request comes from a web page of ${origin.slice(0, 200)}, which core.https_allowed_origin does not allow; ` +
    'set the key to that origin if its pages are to control this server'
  );
}

const trimmed = (origin: string): string => origin.toLowerCase().replace(/\/$/, '');

/** Host and port, whatever the scheme; undefined if the text is not an address, such as `null`. */
function placeOf(origin: string): string | undefined {
  const text = origin.toLowerCase().replace(/^(?:wss?|https?):\/\//, 'https://');
  return text.startsWith('https://') && URL.canParse(text) ? new URL(text).host : undefined;
}

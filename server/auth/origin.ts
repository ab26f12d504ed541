// Requests that a web page makes a browser send: which of them are obeyed. Programs send no Origin. Pure.

export interface OriginFacts {
  /** Of the request's headers. */
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** Something is changed, or a stream is opened. Without: an answer that the browser keeps from the page is harmless. */
  readonly isEffective: boolean;
  /** core.https_allowed_origin: one origin, `*`, or empty. */
  readonly allowed: string;
}

/** Why the request is refused, undefined when it is not. Client libraries for websockets name the server itself as their origin. */
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

/** Host and port, whatever the scheme is called; undefined for what is no address, such as `null`. */
function placeOf(origin: string): string | undefined {
  const text = origin.toLowerCase().replace(/^(?:wss?|https?):\/\//, 'https://');
  return text.startsWith('https://') && URL.canParse(text) ? new URL(text).host : undefined;
}

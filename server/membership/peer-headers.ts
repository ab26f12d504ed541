// Headers of requests between members, valid only on a connection with a member's certificate. The member that forwards a request, or sends
// its own.
export const fromHeader = 'x-gantry-from';
/** The dialect in which the request came. */
export const dialectHeader = 'x-gantry-dialect';
/** Members that passed the request on. */
export const hopsHeader = 'x-gantry-hops';

export const peerHeaders = (from: string): Record<string, string> => ({ [fromHeader]: from, [dialectHeader]: 'svc' });

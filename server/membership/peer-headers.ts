// Headers of requests between members; they count only on a connection with the certificate of the cluster.
/** The member that passes a request on, or asks for itself. */
export const fromHeader = 'x-gantry-from';
/** The dialect in which the request came. */
export const dialectHeader = 'x-gantry-dialect';
/** Members that passed the request on. */
export const hopsHeader = 'x-gantry-hops';

/** For what a member asks for itself. */
export const peerHeaders = (from: string): Record<string, string> => ({ [fromHeader]: from, [dialectHeader]: 'svc' });

// The public door of the client: what other rooms and users of the package import.
export { connect, createClient, dialectOf } from './client.ts';
export type { Client, ClientOptions, Dialect, WriteOptions } from './client.ts';
export { ClientError, errnoOf, isNotFound, isPreconditionFailed, remedyFor } from './client-error.ts';
export type { ClientCode, Remedy } from './client-error.ts';
export { parseEndpoint, renderEndpoint } from './endpoint.ts';
export type { Endpoint } from './endpoint.ts';
export type { EventsOptions } from './events.ts';
export type { Event, EventType } from './event-types.ts';
export { filesOf } from './files.ts';
export type { FileAttributes, FileEntry, Files, FileWrite } from './files.ts';
export type { Call, Http } from './http.ts';
export type { ImageExport, ImageUpload } from './images.ts';
export type { ClientKind, KindTypes } from './kind-paths.ts';
export { operationId } from './operations.ts';
export type { OnUpdate, Operations } from './operations.ts';
export { prefixedHeader } from './reply.ts';
export type { Reply } from './reply.ts';
export type { TlsOptions } from './transport.ts';

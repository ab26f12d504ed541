// The contract of the controller as an OpenAPI 3.1 document, derived from the endpoint table. Pure.
import { Type, type TSchema } from 'typebox';
import * as contract from '../contract/index.ts';
import { endpoints, type Endpoint } from './endpoints.ts';

type Json = Record<string, unknown>;

const named: ReadonlyMap<unknown, string> = new Map(
  Object.entries(contract).flatMap(([name, value]) => (isSchema(value) ? [[value, name] as const] : [])),
);

function isSchema(value: unknown): value is TSchema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

export function openApiDocument(version: string): Json {
  const paths: Record<string, Json> = {};
  for (const row of endpoints) {
    const path = openPath(row.path);
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operationOf(row) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry controller',
      version,
      description: 'Sets of manifests on hosts: state, drift, history, changes.',
    },
    paths,
    components: {
      schemas: Object.fromEntries([...named].map(([schema, name]) => [name, inside(schema)])),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'gantry-session' },
      },
    },
  };
}

const openPath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

function operationOf(row: Endpoint): Json {
  const needsLogin = row.access === 'view' || row.access === 'operate';
  return {
    operationId: row.id,
    summary: row.doc,
    'x-role': row.access,
    security: needsLogin ? [{ token: [] }, { session: [] }] : [{}],
    parameters: [
      ...[...row.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...Object.entries(row.query ?? {}).map(([name, schema]) => ({ name, in: 'query', schema: inside(schema) })),
    ],
    ...(row.mode === 'upload'
      ? { requestBody: { required: true, ...content('application/octet-stream', bytes) } }
      : {}),
    ...(row.body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: reference(row.body) } } } }),
    responses: {
      ...success(row),
      default: { description: 'Refused.', ...content('application/json', contract.Failure) },
    },
  };
}

function success({ mode, status, result, doc }: Endpoint): Json {
  switch (mode) {
    case 'json':
    case 'upload':
      return {
        [status ?? 200]: { description: doc, ...(result === undefined ? {} : content('application/json', result)) },
      };
    case 'events':
      return { 200: { description: doc, ...(result === undefined ? {} : content('text/event-stream', result)) } };
    case 'text':
      return { 200: { description: doc, content: { 'text/plain': { schema: { type: 'string' } } } } };
    case 'redirect':
      return { 303: { description: doc } };
    case 'websocket':
      return { 101: { description: doc } };
  }
  return mode satisfies never;
}

const bytes = Type.String({ format: 'binary' });
const content = (type: string, schema: TSchema): Json => ({ content: { [type]: { schema: reference(schema) } } });

/** A `$ref` when the schema has a name, the schema itself otherwise. */
function reference(schema: unknown): unknown {
  const name = named.get(schema);
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` };
}

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reference);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, reference(part)]));
}

// The contract as an OpenAPI 3.1 document, derived from the endpoint table, the schemas and the error table. Pure.
import type { TSchema } from 'typebox';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from './endpoint-table.ts';
import { errorTable, type ErrorCode } from '../errors.ts';
import { schemas } from './schemas-by-name.ts';

type Json = Record<string, unknown>;

const byIdentity: ReadonlyMap<TSchema, string> = new Map([...schemas].map(([name, schema]) => [schema, name]));

/** Query parameters of all endpoints; each endpoint has `project`. */
export const queryParameters = {
  project: { type: 'string', description: 'Project to work in; default when absent.' },
  recursion: { type: 'integer', description: '0: URLs; 1: objects; 2: containers with state, snapshots and backups.' },
  target: { type: 'string', description: 'Cluster member to answer or act.' },
  type: { type: 'string', description: 'Comma-separated notification types; all when absent.' },
  'all-projects': { type: 'boolean', description: 'Lists the objects of all projects, each with its project.' },
  secret: { type: 'string', description: 'Secret that opens the object to callers without trust.' },
  timeout: { type: 'integer', description: 'Seconds to wait; without limit when absent.' },
  path: { type: 'string', description: 'Path of a file in the container, or name of a template.' },
  force: { type: 'integer', description: '1: remove the member even when it does not answer.' },
  online: {
    type: 'integer',
    description: '1: with force, remove also a member that is online, with the containers and volumes that it has.',
  },
} as const satisfies Record<string, Json>;

export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry',
      version: '1.0',
      description:
        'Manages system containers, images, profiles, networks and storage. Every response is an envelope unless it says otherwise.',
    },
    paths: paths(),
    components: {
      schemas: Object.fromEntries([...schemas].map(([name, schema]) => [name, inner(schema)])),
      parameters: parameterComponents(),
      responses: Object.fromEntries(errorStatuses.map((status) => [`Error${status}`, errorResponse(status)])),
      securitySchemes: {
        clientCertificate: {
          type: 'mutualTLS',
          description: 'A client certificate of the trust store. On the unix socket none is needed.',
        },
      },
    },
  };
}

function paths(): Json {
  const found: Record<string, Json> = {};
  for (const row of endpoints) {
    const path = openPath(row.path);
    found[path] = { ...found[path], [row.method.toLowerCase()]: operation(row) };
  }
  return found;
}

const openPath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{alias}');

function operation(row: Endpoint): Json {
  return {
    operationId: row.id,
    summary: row.doc,
    tags: [row.path.split('/')[2] ?? 'server'],
    parameters: [
      ...pathParameters(row.path),
      ...['project', ...row.query, ...(obeysIfMatch(row) ? ['ifMatch'] : [])].map(parameter),
    ],
    ...requestBody(row),
    responses: { ...success(row), ...failures(row) },
    security: row.auth.includes('guest') ? [{}, { clientCertificate: [] }] : [{ clientCertificate: [] }],
    'x-callers': row.auth,
    'x-mode': row.mode,
    'x-built': row.built,
    ...(row.extension === undefined ? {} : { 'x-extension': row.extension }),
  };
}

const pathParameters = (path: string): Json[] =>
  [...openPath(path).matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(path.endsWith('*') ? { description: 'May hold slashes.' } : {}),
  }));

const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

const parameterComponents = (): Json => ({
  ...Object.fromEntries(
    Object.entries(queryParameters).map(([name, { description, ...schema }]) => [
      name,
      { name, in: 'query', description, schema },
    ]),
  ),
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'ETag of the object as it was read.',
    schema: { type: 'string' },
  },
});

const obeysIfMatch = (row: Endpoint): boolean => row.etag && (row.method === 'PUT' || row.method === 'PATCH');

const requestBody = (row: Endpoint): Json =>
  row.body === undefined
    ? {}
    : { requestBody: { required: true, content: { 'application/json': { schema: reference(row.body) } } } };

function success(row: Endpoint): Json {
  switch (row.mode) {
    case 'sync':
      return row.status === 204
        ? { 204: { description: 'Done.', headers: location('The renamed object.') } }
        : { [row.status ?? 200]: { description: 'Done.', ...etagHeader(row), content: json(syncEnvelope(row)) } };
    case 'async':
      return {
        202: {
          description: 'Going on in the background.',
          headers: location('The operation.'),
          content: json(named('AsyncEnvelope')),
        },
      };
    case 'raw':
      return {
        200: {
          description: 'The content; a list comes in an envelope.',
          content: {
            'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
            ...json(syncEnvelope(row)),
          },
        },
      };
    case 'websocket':
      return { 101: { description: 'The connection is a websocket from here on.' } };
  }
  return row.mode satisfies never;
}

const named = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: Json): Json => ({ 'application/json': { schema } });
const location = (description: string): Json => ({ Location: { description, schema: { type: 'string' } } });
const etagHeader = (row: Endpoint): Json =>
  row.etag && row.method === 'GET'
    ? { headers: { ETag: { description: 'For If-Match of a later change.', schema: { type: 'string' } } } }
    : {};

function syncEnvelope(row: Endpoint): Json {
  if (row.result === undefined) return named('SyncEnvelope');
  return { allOf: [named('SyncEnvelope'), { type: 'object', properties: { metadata: reference(row.result) } }] };
}

const errorStatuses = [...new Set(Object.values(errorTable).map((row) => row.status))].toSorted((a, b) => a - b);

function errorResponse(status: number): Json {
  const codes = (Object.keys(errorTable) as ErrorCode[]).filter((code) => errorTable[code].status === status);
  const description = codes.map((code) => `${code}: ${errorTable[code].doc}`).join('\n');
  return { description, content: json(named('ErrorEnvelope')) };
}

function failures(row: Endpoint): Json {
  const statuses = [400, ...(row.auth.includes('guest') ? [] : [403]), 404];
  if (row.method === 'POST' || row.method === 'PUT' || row.method === 'PATCH') statuses.push(409);
  if (obeysIfMatch(row)) statuses.push(412);
  statuses.push(500);
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]));
}

/** A `$ref` if the schema has a name, otherwise the schema itself. */
function reference(schema: TSchema): Json {
  const name = byIdentity.get(schema);
  return name === undefined ? inner(schema) : named(name);
}

/** The schema as plain JSON, with references to the named ones inside. */
function inner(schema: TSchema): Json {
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, plain(keyword, value)]));
}

function plain(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    return keyword === 'anyOf' || keyword === 'allOf' ? value.map((part) => reference(part as TSchema)) : value;
  }
  if (value === null || typeof value !== 'object') return value;
  if (keyword === 'properties' || keyword === 'patternProperties') {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, reference(part as TSchema)]));
  }
  return keyword === 'items' || keyword === 'additionalProperties' ? reference(value) : value;
}

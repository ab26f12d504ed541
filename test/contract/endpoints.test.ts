// The endpoint table against the spec, row by row, and against itself.
import { describe, expect, test } from 'vitest';
import type { Endpoint } from '../../server/api/endpoints/endpoint.ts';
import { endpoints } from '../../server/api/endpoints/endpoint-table.ts';
import { servedExtensions } from '../../server/api/server/extensions.ts';
import { furtherRoutes, routeShape, specRows } from './spec-rows.ts';

const table = new Map(endpoints.map((row) => [routeShape(`${row.method} ${row.path}`), row]));

// Spec part 4, the places marked ETag; the certificate ones by extension certificate_update.
const withEtag = [
  'PUT /1.0',
  'PATCH /1.0',
  'PUT /1.0/certificates/F',
  'PATCH /1.0/certificates/F',
  'PUT /1.0/containers/N',
  'PATCH /1.0/containers/N',
  'PUT /1.0/containers/N/metadata',
  'PATCH /1.0/networks/N',
  'PUT /1.0/profiles/N',
  'PATCH /1.0/profiles/N',
  'PUT /1.0/storage-pools/P',
  'PUT /1.0/storage-pools/P/volumes/T/N',
  'PATCH /1.0/storage-pools/P/volumes/T/N',
];

// 4, conventions: rename of a profile or network; 4.1, 4.9-4.11: deletes that answer 202 in a sync envelope.
const statuses: Readonly<Record<string, number>> = {
  'POST /1.0/profiles/N': 204,
  'POST /1.0/networks/N': 204,
  'DELETE /1.0/certificates/F': 202,
  'DELETE /1.0/networks/N': 202,
  'DELETE /1.0/operations/I': 202,
  'DELETE /1.0/profiles/N': 202,
};

describe('the endpoint table', () => {
  test.each(specRows)('has %s (%s, %s)', (route, _auth, mode) => {
    const row = table.get(routeShape(route));
    expect(row, route).toBeDefined();
    if (mode !== 'any') expect(row?.mode).toBe(mode);
  });

  test('has no endpoint outside the spec and the list of further routes', () => {
    const known = new Set([...specRows.map(([route]) => route), ...furtherRoutes].map(routeShape));
    expect([...table.keys()].filter((route) => !known.has(route))).toEqual([]);
    expect(furtherRoutes.filter((route) => !table.has(routeShape(route)))).toEqual([]);
  });

  test('has every id and every route once', () => {
    expect(new Set(endpoints.map((row) => row.id)).size).toBe(endpoints.length);
    expect(table.size).toBe(endpoints.length);
  });

  test.each(withEtag)('%s has If-Match, and its GET has an ETag', (route) => {
    expect(table.get(routeShape(route))?.etag).toBe(true);
    expect(table.get(routeShape(route.replace(/^\w+/, 'GET')))?.etag).toBe(true);
  });

  test('has the statuses of the spec', () => {
    for (const [route, status] of Object.entries(statuses))
      expect(table.get(routeShape(route))?.status, route).toBe(status);
  });

  test('refers only to extensions that the server advertises', () => {
    const unknown = endpoints.flatMap((row) => (row.extension === undefined ? [] : [row.extension]));
    expect(unknown.filter((name) => !servedExtensions.includes(name))).toEqual([]);
  });

  test('has a summary sentence for each endpoint', () => {
    for (const row of endpoints) expect(row.doc, row.id).toMatch(/^[A-Z].+\.$/s);
  });

  test('has bodies only for methods that send one', () => {
    expect(endpoints.filter((row) => row.body !== undefined && ['GET', 'DELETE'].includes(row.method))).toEqual([]);
  });

  test('has the recursion parameter for each collection', () => {
    const lists = endpoints.filter((row) => row.method === 'GET' && /\.list(Type)?$/.test(row.id));
    const without = lists.filter((row) => !row.query.includes('recursion')).map((row) => row.id);
    // Log files have no objects.
    expect(without).toEqual(['containers.logs.list']);
  });
});

describe('special cases are facts of the row', () => {
  const having = (isSpecial: (row: Endpoint) => boolean) =>
    (endpoints as readonly Endpoint[]).filter(isSpecial).map(({ id }) => id);

  test('actions on own containers of a member need no store of the cluster', () => {
    expect(having(({ needsStore }) => needsStore === false)).toEqual([
      'containers.state.put',
      'containers.exec',
      'containers.console.post',
      'containers.console.delete',
      'containers.files.post',
      'containers.files.delete',
      'containers.logs.delete',
      'operations.delete',
    ]);
  });

  test('the creation of a container is placed by its body, files are bodies of their own, metrics need less trust', () => {
    expect(having(({ placedBy }) => placedBy === 'body')).toEqual(['containers.create']);
    expect(having(({ ownBody }) => ownBody !== undefined)).toEqual([
      'containers.create',
      'images.create',
      'volumes.createType',
    ]);
    expect(having(({ access, traced }) => access === 'metrics' && traced === false)).toEqual(['metrics.get']);
  });
});

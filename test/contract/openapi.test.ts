// The OpenAPI document: whole, consistent, and as last reviewed.
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../server/api/endpoints/endpoint-table.ts';
import { openApiDocument, queryParameters } from '../../server/api/endpoints/openapi.ts';
import { expectGolden } from '../support/golden.ts';

interface Operation {
  operationId: string;
  parameters: { name?: string; in?: string; $ref?: string }[];
  responses: Record<string, unknown>;
  requestBody?: unknown;
  'x-built': boolean;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

const text = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
const document = JSON.parse(text) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('the OpenAPI document', () => {
  test('has every endpoint once, with its id and whether it is built', () => {
    expect(document.openapi).toBe('3.1.0');
    const found = operations.map(
      ({ method, operation }) => `${operation.operationId} ${method} ${operation['x-built']}`,
    );
    expect(found.toSorted()).toEqual(
      endpoints.map((row) => `${row.id} ${row.method.toLowerCase()} ${row.built}`).toSorted(),
    );
  });

  test('refers only to schemas inside the document', () => {
    const references = [...text.matchAll(/"\$ref": "#\/components\/(\w+)\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(300);
    for (const [, group = '', name = ''] of references)
      expect(document.components[group], `${group}/${name}`).toHaveProperty(name);
    expect(text.match(/"\$ref": (?!"#\/components\/)/)).toBeNull();
  });

  test('declares the parameters of each path, each once', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(operation.parameters.filter((one) => one.in === 'path').map((one) => one.name)).toEqual(inPath);
      const names = operation.parameters.map((one) => `${one.in} ${one.name} ${one.$ref}`);
      expect(new Set(names).size, operation.operationId).toBe(names.length);
    }
  });

  test('describes every query parameter of the table, and no unused one', () => {
    const used = new Set(['project', ...endpoints.flatMap((row) => [...row.query])]);
    expect(Object.keys(queryParameters).toSorted()).toEqual([...used].toSorted());
  });

  test('has a body exactly where the table has one, and only the statuses of the spec for failures', () => {
    for (const row of endpoints) {
      const operation = operations.find((one) => one.operation.operationId === row.id)?.operation;
      expect(operation?.requestBody !== undefined, row.id).toBe(row.body !== undefined);
      const failures = Object.keys(operation?.responses ?? {}).filter((status) => Number(status) >= 400);
      for (const status of failures)
        expect(['400', '401', '403', '404', '409', '412', '500'], row.id).toContain(status);
    }
  });

  test('has no schema twice: named ones occur in one place', () => {
    const certificate = document.paths['/1.0/certificates']?.['post']?.requestBody;
    expect(JSON.stringify(certificate)).toContain('#/components/schemas/CertificateCreate');
    expect(JSON.stringify(document.components['schemas']?.['AsyncEnvelope'])).toContain(
      '#/components/schemas/Operation',
    );
  });

  test('equals the reviewed golden', () => expectGolden('contract/openapi.json', text));
});

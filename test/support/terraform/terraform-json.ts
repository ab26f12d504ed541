// Terraform JSON in tests: the documents that one file becomes, and its problems by code and place.
import { expect } from 'vitest';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { readDocument } from '../../../reconciler/manifest/documents/read-document.ts';
import { loadTerraform, type TerraformLoad } from '../../../reconciler/manifest/terraform-json/load-terraform.ts';
import { pointerOf } from '../../../reconciler/manifest/terraform-json/problem.ts';

type Given = Readonly<Record<string, Json>>;

/** `given`: values of variables. */
export const loadJson = (value: Json, given: Given = {}): TerraformLoad =>
  loadTerraform([{ file: 'cdk.tf.json', folder: '/stack', value }], givenFrom(given));
const givenFrom = (given: Given): Parameters<typeof loadTerraform>[1] =>
  new Map(
    Object.entries(given).map(([name, json]) => [name, typeof json === 'string' ? { text: json } : { json }] as const),
  );

/** All of them are documents that a manifest could hold. */
export function loadedDocuments(value: Json, given: Given = {}): TerraformLoad['documents'] {
  const loaded = loadJson(value, given);
  expect(loaded.problems).toEqual([]);
  for (const document of loaded.documents) {
    expect(readDocument(document.value).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  }
  return loaded.documents;
}

export const documentsIn = (value: Json, given: Given = {}): readonly Record<string, unknown>[] =>
  loadedDocuments(value, given).map((document) => document.value);

/** `E_VALUE cdk.tf.json/output/o/value`. */
export const problemsIn = ({ problems }: Pick<TerraformLoad, 'problems'>): readonly string[] =>
  problems.map(({ code, file, steps }) => `${code} ${file}${pointerOf(steps)}`);

export const codesOf = (value: Json, given: Given = {}): readonly string[] => problemsIn(loadJson(value, given));

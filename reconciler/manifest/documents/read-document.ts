// Turns the value of one YAML document into a document, or reports all of its problems.
import { X509Certificate } from 'node:crypto';
import { isInProject, kinds, type KindName } from '../../../server/api/kinds.ts';
import { documentSchema } from '../../../server/api/documents/document-schema.ts';
import type { JsonSchema } from '../../../server/api/schema/json-schema.ts';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import {
  addressOf,
  type Address,
  type Document,
  type ImageFiles,
  type Json,
  type JsonObject,
  type PowerState,
} from '../../core/documents/document.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';
import { labelConfig, labelProblems, presentLabels } from '../../core/documents/labels.ts';
import { hasConfig } from '../../core/ownership/owner-records.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { withSeedTexts } from './cloud-config.ts';
import { coerce } from './coerce.ts';
import { ruleFindings } from './document-rules.ts';
import { withoutComputed } from '../messages/computed-members.ts';
import { kindProblem, machineProblem } from '../messages/kind-problems.ts';
import { schemaFinding } from '../messages/wrong-type.ts';
import { ignoreFindings } from './read-ignore.ts';
import { dependsOnFindings, readManage } from './read-manage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** A document without its place, which the loader adds. */
export type LooseDocument = Omit<Document, 'location'>;

export interface ReadResult {
  /** Absent when there are errors. */
  readonly document?: LooseDocument;
  /** Known even when the document has errors. */
  readonly address?: Address;
  readonly findings: readonly Finding[];
}

const reserved = new Set([
  'kind',
  'name',
  'patch',
  'labels',
  'state',
  'manage',
  'file',
  'metadata',
  'rootfs',
  'project',
]);
const schemas = new Map<KindName, JsonSchema>();

/** `nowMs`: the time for rules with an end. */
export function readDocument(value: Json, nowMs = Date.now(), base = 'default'): ReadResult {
  if (!isMap(value)) {
    return only(wrong('not-a-document', '', 'a document must be a map that begins with `kind:`'));
  }
  const flat = flatForm(value);
  const problem = kindProblem(flat);
  if (problem !== undefined) return only(problem);
  const kind = flat['kind'] as KindName;
  return readKind(kind, flat, nowMs, base);
}

const only = (finding: Finding): ReadResult => ({ findings: [finding] });

/** The shape of Kubernetes tools, so that their overlays work: metadata.name, metadata.labels, spec. */
const isEnvelope = (value: JsonObject): boolean => 'apiVersion' in value && 'kind' in value;

/** A document without the envelope. */
export const flatForm = (value: Json): JsonObject =>
  !isMap(value) ? {} : isEnvelope(value) ? openEnvelope(value) : value;

function openEnvelope(value: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, metadata, spec, ...rest } = value;
  const { name, labels, ...others } = isMap(metadata) ? metadata : {};
  return {
    ...rest,
    // Annotations and the like are for other tools; gantry's own keys may be under metadata or spec.
    ...('manage' in others ? { manage: others['manage'] ?? null } : {}),
    ...withoutUndefined({ name, labels }),
    ...(isMap(spec) ? spec : {}),
  };
}

function readKind(kind: KindName, flat: JsonObject, nowMs: number, base: string): ReadResult {
  const machine = machineProblem(kind, flat);
  if (machine !== undefined) return only(machine);
  const written = withoutComputed(kind, flat);
  const { value, findings } = withoutForeignWaits(withSeedTexts(written.value));
  findings.push(...written.findings);
  let schema = schemas.get(kind);
  if (schema === undefined) schemas.set(kind, (schema = documentSchema(kind)));
  const coerced = coerce(value, schema);
  findings.push(...schemaFindings(coerced, schema));
  const plain = nameOf(kind, coerced);
  const broken = plain === undefined ? undefined : kinds[kind].nameRule(plain);
  if (broken !== undefined) findings.push(wrong('bad-name', 'name', `the name ${JSON.stringify(plain)} ${broken}`));
  const project = readProject(kind, coerced['project'], base, findings);
  const name = plain === undefined ? undefined : scopedName(plain, project);
  const address = name === undefined ? {} : { address: addressOf(kind, name) };
  if (hasError(findings)) {
    findings.push(...dependsOnFindings(coerced['manage']));
    return { ...address, findings: [...findings, ...ruleFindings(kind, coerced, findings)] };
  }
  const manage = readManage(coerced['manage'], findings, nowMs);
  findings.push(...ignoreFindings(kind, manage.ignore));
  const certificate = kind === 'certificate' ? readCertificate(coerced['certificate'], findings) : undefined;
  const values = { ...valuesOf(kind, coerced), ...(certificate === undefined ? {} : { certificate: certificate.der }) };
  findings.push(...ruleFindings(kind, coerced, findings));
  const labels = mapOf(coerced['labels']);
  findings.push(...labelProblems(labels).map(({ key, message }) => wrong('bad-label', `labels.${key}`, message)));
  if (hasError(findings) || name === undefined) return { ...address, findings };
  const files = kind === 'image' && coerced['source'] === undefined ? readFiles(coerced) : undefined;
  const state = coerced['state'] as PowerState | undefined;
  return {
    document: {
      kind,
      name,
      address: addressOf(kind, name),
      ...withoutUndefined({ project }),
      values: withLabels(kind, values, labels),
      manage,
      ...(Object.keys(labels).length === 0 ? {} : { labels: presentLabels(labels) }),
      ...withoutUndefined({ state, files }),
      ...(certificate === undefined ? {} : { fingerprint: certificate.fingerprint }),
    },
    findings,
  };
}

/** undefined: that of the connection. */
function readProject(kind: KindName, value: Json | undefined, base: string, findings: Finding[]): string | undefined {
  if (!isInProject(kind) || typeof value !== 'string' || value === base) return undefined;
  const broken = kinds.project.nameRule(value);
  if (broken !== undefined)
    findings.push(wrong('bad-name', 'project', `the project ${JSON.stringify(value)} ${broken}`));
  return value;
}

/** The name of a volume contains its pool, which its document may write separately. */
function nameOf(kind: KindName, value: JsonObject): string | undefined {
  const { name, pool } = value;
  if (kind === 'server_config' && name === undefined) return 'server';
  if (typeof name !== 'string') return undefined;
  return kind === 'storage_volume' && typeof pool === 'string' ? `${pool}/${name}` : name;
}

function valuesOf(kind: KindName, value: JsonObject): JsonObject {
  const values: Record<string, Json> = {};
  for (const key of Object.keys(value)) if (!reserved.has(key)) values[key] = value[key] ?? null;
  // The name of a certificate is one of its fields, since the server identifies it by its fingerprint.
  const name = kind === 'certificate' ? { name: value['name'] ?? '', type: value['type'] ?? 'client' } : {};
  const { member_overrides: written } = value;
  const overrides = isMap(written) ? { member_overrides: configsOf(written) } : {};
  return Object.assign(values, overrides, name);
}

/** `{node2: {config: {...}}}` without the word `config`. */
const configsOf = (overrides: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(overrides).map(([member, part]) => [member, mapOf(mapOf(part)['config'])]));

/** Kinds without config have their labels in the document only. */
const withLabels = (kind: KindName, values: JsonObject, labels: JsonObject): JsonObject =>
  Object.keys(labels).length === 0 || !hasConfig(kind)
    ? values
    : { ...values, config: { ...mapOf(values['config']), ...labelConfig(labels) } };

/** PEM or base64, converted to the form that all servers accept, with its fingerprint. */
function readCertificate(
  value: Json | undefined,
  findings: Finding[],
): { readonly der: string; readonly fingerprint: string } | undefined {
  try {
    const text = typeof value === 'string' ? value : '';
    const isPem = text.includes('-----BEGIN CERTIFICATE-----');
    const parsed = new X509Certificate(isPem ? text : Buffer.from(text, 'base64'));
    const fingerprint = parsed.fingerprint256.replaceAll(':', '').toLowerCase();
    return { der: parsed.raw.toString('base64'), fingerprint };
  } catch {
    findings.push(
      wrong('bad-certificate', 'certificate', 'must be an X.509 certificate in PEM form, or base64 of DER'),
    );
    return undefined;
  }
}

const hasError = (findings: readonly Finding[]): boolean => findings.some((finding) => finding.severity === 'error');

/** Refuses waits of other tools by name. */
function withoutForeignWaits(flat: JsonObject): { readonly value: JsonObject; readonly findings: Finding[] } {
  const manage = flat['manage'];
  const waits = isMap(manage) ? manage['wait'] : undefined;
  if (!isMap(manage) || !Array.isArray(waits)) return { value: flat, findings: [] };
  const findings: Finding[] = [];
  const wait = (waits as readonly Json[]).map((item, index) => {
    const words = typeof item === 'string' ? [item] : isMap(item) ? Object.keys(item) : [];
    const foreign = words.find((word) => foreignWaits.includes(word));
    if (foreign === undefined) return item;
    const path = `manage.wait.${index}.${foreign}`;
    const remedy = 'wait for running, ipv4, ipv6, exec, tcp, file or cloud_init';
    findings.push(wrong('not-available', path, `${path} is not available in this version`, remedy));
    // A valid placeholder keeps the positions of the other waits; the document is refused anyway.
    return 'running';
  });
  return { value: { ...flat, manage: { ...manage, wait } }, findings };
}

const foreignWaits = ['ready', 'delay', 'agent'];

const schemaFindings = (value: JsonObject, schema: JsonSchema): readonly Finding[] =>
  validateBody(schema as Parameters<typeof validateBody>[0], value, { unknownKeys: 'report' }).map((problem) =>
    schemaFinding(problem, value),
  );

function readFiles(value: JsonObject): ImageFiles {
  const text = (key: string): string => asText(value[key]);
  const isUnified = typeof value['file'] === 'string';
  return { parts: isUnified ? { file: text('file') } : { metadata: text('metadata'), rootfs: text('rootfs') } };
}

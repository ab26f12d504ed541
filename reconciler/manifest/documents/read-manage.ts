// Reads the `manage:` block of a document, whose shape the schema has checked.
import type { WaitCondition } from '../../../server/api/container/wait-condition.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import { hint } from '../../../server/api/text/nearest-word.ts';
import { waitNames } from '../../../server/api/documents/manage-schema.ts';
import { isKindName, kindNames } from '../../../server/api/kinds.ts';
import {
  defaultManage,
  type Address,
  type Json,
  type JsonObject,
  type Manage,
  type PolicyWord,
} from '../../core/documents/document.ts';
import { parseHostPattern } from '../../core/documents/host-pattern.ts';
import { asText, mapOf, textsOf } from '../../core/documents/json-values.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { readIgnore } from './read-ignore.ts';

const defaultWaitMs = 60_000;

/** `nowMs`: the time for rules with an end. */
export function readManage(value: Json | undefined, findings: Finding[], nowMs: number): Manage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return defaultManage;
  const block = value as JsonObject;
  return {
    mode: (block['mode'] ?? defaultManage.mode) as Manage['mode'],
    image: (block['image'] ?? defaultManage.image) as Manage['image'],
    ...(block['prune'] === undefined ? {} : { prune: block['prune'] as Exclude<Manage['prune'], undefined> }),
    ...readPolicy(block, findings),
    ...(typeof block['set'] === 'string' ? { set: block['set'] } : {}),
    ...(block['hosts'] === undefined ? {} : { hosts: readHosts(block['hosts'], findings) }),
    disruption: (block['disruption'] ?? defaultManage.disruption) as Manage['disruption'],
    protect: block['protect'] === true,
    ignore: readIgnore(block['ignore'], nowMs, findings),
    dependsOn: readDependsOn((block['depends_on'] ?? []) as readonly string[], findings),
    ...(block['wave'] === undefined ? {} : { wave: readWave(block['wave'], findings) }),
    wait: ((block['wait'] ?? []) as readonly Json[]).map((item, index) =>
      readWait(item, `manage.wait.${index}`, findings),
    ),
    power: (block['power'] ?? defaultManage.power) as Manage['power'],
    timeoutMs: readDuration(block['timeout'], defaultManage.timeoutMs, 'manage.timeout', findings),
  };
}

/** Waves lie between its negative and itself. */
export const farthestWave = 1000;

function readWave(value: Json, findings: Finding[]): number {
  const wave = Number(value);
  if (/^-?[0-9]+$/.test(asText(value)) && Math.abs(wave) <= farthestWave) return wave;
  findings.push(
    wrong('bad-value', 'manage.wave', `manage.wave must be a whole number from -${farthestWave} to ${farthestWave}`),
  );
  return 0;
}

/** Without permission to delete, the set releases the object. */
function readPolicy(block: JsonObject, findings: Finding[]): Pick<Manage, 'policy' | 'onDelete'> {
  const onDelete = (block['on_delete'] ?? defaultManage.onDelete) as Manage['onDelete'];
  if (!Array.isArray(block['policy'])) return { onDelete };
  const policy = block['policy'] as readonly PolicyWord[];
  if (policy.includes('delete')) return { onDelete, policy };
  if (block['on_delete'] === 'delete')
    findings.push(
      wrong(
        'bad-value',
        'manage.on_delete',
        'manage.on_delete cannot be delete: manage.policy does not allow to delete',
      ),
    );
  return { onDelete: 'orphan', policy };
}

/** One text or several, as they are written. */
export const hostTexts = (value: Json | undefined): readonly string[] =>
  typeof value === 'string' ? [value] : textsOf(value);

function readHosts(value: Json, findings: Finding[]): readonly string[] {
  const texts = hostTexts(value);
  for (const [index, text] of texts.entries()) {
    const path = Array.isArray(value) ? `manage.hosts.${index}` : 'manage.hosts';
    const parsed = parseHostPattern(text);
    if (typeof parsed === 'string') findings.push(wrong('bad-selector', path, `${path}: ${parsed}`));
  }
  return texts;
}

/** Also checks a block with other problems, so that one run reports all of them. */
export function dependsOnFindings(value: Json | undefined): readonly Finding[] {
  const findings: Finding[] = [];
  readDependsOn(textsOf(mapOf(value)['depends_on']), findings);
  return findings;
}

function readDependsOn(items: readonly string[], findings: Finding[]): readonly Address[] {
  return items.flatMap((item, index): Address[] => {
    const slash = item.indexOf('/');
    const kind = item.slice(0, Math.max(0, slash));
    if (isKindName(kind) && slash < item.length - 1) return [item as Address];
    const message =
      slash === -1
        ? `must be kind/name, is ${JSON.stringify(item)}`
        : `has no known kind: ${kind}${hint(kind, kindNames)}`;
    findings.push(wrong('bad-reference', `manage.depends_on.${index}`, message, 'write it as in container/web1'));
    return [];
  });
}

function readWait(item: Json, path: string, findings: Finding[]): WaitCondition {
  const entry: JsonObject = typeof item === 'string' ? { [item]: true } : (item as JsonObject);
  const timeoutMs = readDuration(entry['timeout'], defaultWaitMs, `${path}.timeout`, findings);
  const said = waitNames.filter((name) => Object.hasOwn(entry, name));
  if (said.length !== 1) {
    const what = said.length === 0 ? 'nothing' : said.join(' and ');
    findings.push(wrong('bad-value', path, `${path} must name one of ${waitNames.join(', ')}, names ${what}`));
  }
  const { running, ipv4, ipv6, exec, tcp, file } = entry;
  if (running !== undefined) return { type: 'running', timeoutMs };
  if (ipv4 !== undefined) return { type: 'ipv4', ...nicOf(ipv4), timeoutMs };
  if (ipv6 !== undefined) return { type: 'ipv6', ...nicOf(ipv6), timeoutMs };
  if (exec !== undefined) return { type: 'exec', command: (exec as readonly Json[]).map(asText), timeoutMs };
  if (tcp !== undefined) return { type: 'tcp', ...readPlace(asText(tcp), `${path}.tcp`, findings), timeoutMs };
  if (file !== undefined) return { type: 'file', path: asText(file), timeoutMs };
  return { type: 'cloud-init', timeoutMs };
}

const nicOf = (value: Json): { readonly nic?: string } => (typeof value === 'string' ? { nic: value } : {});

/** `8080`, `web.example:8080`, `[2001:db8::1]:8080`. */
function readPlace(text: string, path: string, findings: Finding[]): { readonly host?: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  if (port < 1 || port > 65_535)
    findings.push(wrong('bad-value', path, `${path} must have a port from 1 to 65535, is ${text}`));
  return { ...(colon === -1 ? {} : { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1') }), port };
}

const longestMs = 24 * 3_600_000;

/** `90s`, `5m`, `1h30m`; a number is seconds. */
export function readDuration(value: Json | undefined, otherwise: number, path: string, findings: Finding[]): number {
  if (value === undefined || value === null) return otherwise;
  const foundMs = durationMs(asText(value)) ?? 0;
  if (foundMs > 0 && foundMs <= longestMs) return foundMs;
  const text = 'must be a time of at most 24h such as 90s, 5m or 1h30m';
  findings.push(wrong('bad-value', path, text));
  return otherwise;
}

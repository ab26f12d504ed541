// Reads a hosts file: servers with their addresses, labels, groups and variables. It connects to none of them; host-pattern.ts selects
// hosts.
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { hostsSchema } from '../../server/api/documents/hosts-schema.ts';
import { didYouMean, hint } from '../../server/api/text/nearest-word.ts';
import { validateBody } from '../../server/api/schema/validate-json.ts';
import { parseEndpoints } from '../../server/client/transport/host-endpoint.ts';
import type { Diagnostic } from '../core/documents/diagnostic.ts';
import type { Json, JsonObject } from '../core/documents/document.ts';
import type { HostFacts } from '../core/documents/host-pattern.ts';
import { asText, mapOf, textOf, textsOf } from '../core/documents/json-values.ts';
import { labelProblems, presentLabels } from '../core/documents/labels.ts';
import { wrong, type Finding } from './text/finding.ts';
import { isHostsFile } from './documents/for-host.ts';
import { PlacedText, placedDiagnostic } from './text/locate-diagnostics.ts';
import { parseYaml } from './text/parse-yaml.ts';
import { variableName } from './variables/read-variables.ts';
import { readSources } from './text/sources.ts';
import { expandVariables, type Variables } from './variables/variables.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface Host extends HostFacts {
  /** As `--host` takes it. */
  readonly address: string;
  /** Absolute. */
  readonly clientCert?: string;
  readonly clientKey?: string;
  /** Absolute path, or a fingerprint. */
  readonly serverCert?: string;
  readonly project?: string;
  readonly vars: Readonly<Record<string, string>>;
}

export interface HostsFile {
  /** In the order of the file; empty when there are errors. */
  readonly hosts: readonly Host[];
  readonly diagnostics: readonly Diagnostic[];
}

/** `given`: variables for the file itself, such as those of the command line. */
export async function readHostsFile(file: string, given: Variables, signal?: AbortSignal): Promise<HostsFile> {
  const { texts, diagnostics: unreadable } = await readSources({ paths: [file] }, signal);
  const [text] = texts;
  if (text === undefined) return { hosts: [], diagnostics: unreadable };
  const source = new PlacedText(text);
  const parsed = parseYaml(text.text);
  const diagnostics = parsed.problems.map((problem) => source.diagnosticOf(problem));
  const raw = parsed.documents.find(({ value }) => isHostsFile(value)) ?? parsed.documents[0];
  if (raw === undefined) return { hosts: [], diagnostics: diagnostics.length > 0 ? diagnostics : [emptyFile(file)] };
  const { value, empty } = expandVariables(raw.value, given);
  const reader = new HostsReader(value, text.folder);
  const unset = empty.map(({ path, name }) => wrong('empty-variable', path, `the variable ${name} has no value`));
  for (const finding of [...unset, ...(await reader.read())]) diagnostics.push(placedDiagnostic(finding, source, raw));
  return { hosts: diagnostics.length > 0 ? [] : reader.hosts, diagnostics };
}

const emptyFile = (file: string): Diagnostic => ({
  severity: 'error',
  code: 'bad-hosts',
  path: '',
  message: `${file} holds no hosts: begin it with \`kind: hosts\``,
  file,
  line: 1,
  column: 1,
});

const nameRule = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const fingerprint = /^[0-9A-Fa-f:]{64,}$/;

class HostsReader {
  hosts: readonly Host[] = [];
  readonly #value: Json;
  readonly #folder: string;
  readonly #findings: Finding[] = [];

  constructor(value: Json, folder: string) {
    this.#value = value;
    this.#folder = folder;
  }

  async read(): Promise<readonly Finding[]> {
    if (!isHostsFile(this.#value)) {
      const remedy = 'begin it with `kind: hosts`; list hosts with name and address under `hosts:`';
      return [wrong('bad-hosts', '', 'this is no hosts file', remedy)];
    }
    const file = this.#value as JsonObject;
    const schema = hostsSchema as Parameters<typeof validateBody>[0];
    for (const { path, message, code, near } of validateBody(schema, file, { unknownKeys: 'report' })) {
      const isUnknown = code === 'unknownMember';
      const what = isUnknown ? `is not a key of hosts files${didYouMean(near)}` : message;
      this.#findings.push(wrong(isUnknown ? 'unknown-key' : 'bad-hosts', path, `${path} ${what}`));
    }
    if (this.#findings.length > 0) return this.#findings;
    const entries = (file['hosts'] as readonly JsonObject[]).map((entry, index) => ({ entry, at: `hosts.${index}` }));
    const hosts: Host[] = [];
    this.#checkWords(file['vars'], 'vars');
    for (const [group, block] of Object.entries(mapOf(file['groups'])))
      for (const word of ['vars', 'labels']) this.#checkWords(mapOf(block)[word], `groups.${group}.${word}`);
    for (const { entry, at } of entries) hosts.push(await this.#host(entry, at, file));
    this.#checkNames(hosts);
    this.hosts = hosts;
    return this.#findings;
  }

  async #host(entry: JsonObject, at: string, file: JsonObject): Promise<Host> {
    const groups = textsOf(entry['groups']);
    const known = Object.keys(mapOf(file['groups']));
    for (const [index, group] of groups.entries())
      if (file['groups'] !== undefined && !known.includes(group))
        this.#report(`${at}.groups.${index}`, `there is no group ${group}${hint(group, known)}`, 'add it to groups');
    const layers = [...groups.map((group) => mapOf(mapOf(file['groups'])[group])), entry];
    for (const word of ['vars', 'labels']) this.#checkWords(entry[word], `${at}.${word}`);
    const address = this.#address(asText(entry['address']), at);
    const paths: Record<string, string> = {};
    for (const [key, name] of [
      ['client_cert', 'clientCert'],
      ['client_key', 'clientKey'],
      ['server_cert', 'serverCert'],
    ] as const) {
      const path = await this.#path(key, entry, at, file);
      if (path !== undefined) paths[name] = path;
    }
    if ('clientCert' in paths !== 'clientKey' in paths)
      this.#report(at, 'client_cert and client_key belong together', 'give both, or neither');
    const project = textOf(entry['project']) ?? textOf(file['project']);
    return {
      name: asText(entry['name']),
      address,
      ...paths,
      ...withoutUndefined({ project }),
      groups,
      labels: presentLabels(Object.assign({}, ...layers.map((layer) => mapOf(layer['labels']))) as JsonObject),
      vars: presentLabels(
        Object.assign({}, mapOf(file['vars']), ...layers.map((layer) => mapOf(layer['vars']))) as JsonObject,
      ),
    };
  }

  #address(text: string, at: string): string {
    try {
      parseEndpoints(text);
    } catch {
      const remedy =
        'write unix:///path/to/unix.socket or https://name:8443, or several https addresses of a cluster with commas between';
      this.#report(`${at}.address`, `the address ${JSON.stringify(text)} is not understood`, remedy);
    }
    return text;
  }

  async #path(key: string, entry: JsonObject, at: string, file: JsonObject): Promise<string | undefined> {
    const own = textOf(entry[key]);
    const text = own ?? (key === 'server_cert' ? undefined : textOf(file[key]));
    if (text === undefined) return undefined;
    if (key === 'server_cert' && fingerprint.test(text)) return text;
    const path = resolve(this.#folder, text);
    const isFile = await stat(path).then(
      (found) => found.isFile(),
      () => false,
    );
    if (!isFile)
      this.#report(
        own === undefined ? key : `${at}.${key}`,
        `${path} is no file`,
        'paths are relative to the hosts file',
      );
    return path;
  }

  #checkWords(value: Json | undefined, path: string): void {
    const words = mapOf(value);
    if (path.endsWith('labels'))
      for (const { key, message } of labelProblems(words)) this.#report(`${path}.${key}`, message);
    else
      for (const name of Object.keys(words))
        if (!variableName.test(name))
          this.#report(`${path}.${name}`, `${name} is no name of a variable: letters, digits and _`);
  }

  #checkNames(hosts: readonly Host[]): void {
    const names = new Map<string, number>();
    const places = new Map<string, string>();
    for (const [index, { name, address, project = '' }] of hosts.entries()) {
      const path = `hosts.${index}.name`;
      if (!nameRule.test(name))
        this.#report(
          path,
          `the name ${JSON.stringify(name)} must be letters, digits, - _ and . in between, at most 63`,
        );
      const first = names.get(name);
      if (first !== undefined) this.#report(path, `the name ${name} is that of host number ${first + 1} already`);
      else names.set(name, index);
      const place = `${address} ${project}`;
      const other = places.get(place);
      if (other !== undefined)
        this.#report(`hosts.${index}.address`, `${name} and ${other} are the same server`, 'keep one of the two');
      else places.set(place, name);
    }
  }

  #report(path: string, message: string, remedy?: string): void {
    this.#findings.push(wrong('bad-hosts', path, message, remedy));
  }
}

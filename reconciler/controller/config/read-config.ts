// Reads gantry.yaml: the schema, the rules between its parts, and every problem at its place in the file.
import { dirname, resolve, sep } from 'node:path';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import { isLoopback } from '../../../server/lib/shared/net/loopback.ts';
import { didYouMean } from '../../../server/api/text/nearest-word.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import { parseHostPattern } from '../../core/documents/host-pattern.ts';
import { wrong, type Finding } from '../../manifest/text/finding.ts';
import { placedDiagnostic, PlacedText } from '../../manifest/text/locate-diagnostics.ts';
import { parseYaml } from '../../manifest/text/parse-yaml.ts';
import { readSources } from '../../manifest/text/sources.ts';
import { isCollectorUrl } from '../../../server/traces/target.ts';
import type { AuthConfig, ControllerConfig } from './config.ts';
import { reportInto, type Report } from './report.ts';
import { checkGenerators, readerOfGenerated } from './read-generators.ts';
import { readOwnedSet } from './read-owned-set.ts';
import { checkTenantSources, readTenant } from './read-tenants.ts';
import { networkOf } from './network.ts';
import { checkNames } from './check-names.ts';
import { withNumbers } from './numbers.ts';
import { ControllerFile, type TracingConfig } from './schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ReadConfig {
  /** Absent when there are errors. */
  readonly config?: ControllerConfig;
  readonly diagnostics: readonly Diagnostic[];
}

export async function readConfig(file: string, signal?: AbortSignal): Promise<ReadConfig> {
  const { texts, diagnostics: unreadable } = await readSources({ paths: [file] }, signal);
  const [text] = texts;
  if (text === undefined) return { diagnostics: unreadable };
  const source = new PlacedText(text);
  const parsed = parseYaml(text.text);
  const diagnostics = parsed.problems.map((problem) => source.diagnosticOf(problem));
  const [raw] = parsed.documents;
  if (raw === undefined) return { diagnostics: diagnostics.length > 0 ? diagnostics : [emptyFile(file)] };
  const value = withNumbers(ControllerFile, raw.value);
  const findings = schemaFindings(value);
  const { config, problems } = findings.length > 0 ? { problems: findings } : resolved(file, value as ControllerFile);
  diagnostics.push(...problems.map((finding) => placedDiagnostic(finding, source, raw)));
  return config === undefined || diagnostics.length > 0
    ? { diagnostics }
    : { config: { ...config, locate: (finding) => placedDiagnostic(finding, source, raw) }, diagnostics };
}

const emptyFile = (file: string): Diagnostic => ({
  severity: 'error',
  code: 'bad-config',
  path: '',
  message: `${file} is empty: it needs hosts, sources and sets`,
  file,
  line: 1,
  column: 1,
});

const schemaFindings = (value: unknown): readonly Finding[] =>
  validateBody(ControllerFile, value, { unknownKeys: 'report' }).map(({ path, message, code, near }) =>
    code === 'unknownMember'
      ? wrong('unknown-key', path, `${path} is not a key of the controller's config${didYouMean(near)}`)
      : wrong('bad-config', path, `${path === '' ? 'the file' : path} ${message}`),
  );

function resolved(file: string, written: ControllerFile): { config?: ControllerConfig; problems: readonly Finding[] } {
  const problems: Finding[] = [...checkNames(written)];
  const folder = dirname(resolve(file));
  const report = reportInto(problems);
  checkTenantSources(written, report);
  checkIntervals(written.sources, report);
  checkGenerators(written, report);
  if ((written.sets ?? []).length + (written.generators ?? []).length === 0)
    report('sets', 'is empty: name a set, or a generator of sets');
  const tenants = (written.tenants ?? []).map((tenant, index) =>
    readTenant(tenant, `tenants.${index}`, folder, report),
  );
  const sets = (written.sets ?? []).map((set, index) =>
    readOwnedSet(written, tenants, set, { at: `sets.${index}`, folder, report }),
  );
  const { controller = {}, hosts, sources, notifications = [], tracing } = written;
  checkListener(controller, report);
  checkStateKey(controller, folder, report);
  checkProxies(controller, report);
  checkGrants(controller, report);
  checkTracing(tracing, report);
  if (problems.length > 0) return { problems };
  const at = (path: string): string => resolve(folder, path);
  const {
    name = 'main',
    stateDir = 'state',
    stateKey = `${stateDir.replace(/\/+$/, '')}.key`,
    listen,
    url,
    tls,
    auth,
    anonymous,
    parallelism = 4,
  } = controller;
  const config: ControllerConfig = {
    file: resolve(file),
    folder,
    name,
    stateDir: at(stateDir),
    stateKey: at(stateKey),
    ...withoutUndefined({ listen }),
    ...(tls === undefined ? {} : { tls: { cert: at(tls.cert), key: at(tls.key) } }),
    ...withoutUndefined({ url }),
    ...(auth === undefined ? {} : { auth: withPaths(auth, at) }),
    ...withoutUndefined({ anonymous }),
    console: controller.console === true,
    trustedProxies: controller.trustedProxies ?? [],
    parallelism,
    hostsFile: at(hosts.file),
    sources,
    sets,
    generators: written.generators ?? [],
    readGenerated: readerOfGenerated(written, folder),
    notifications,
    ...(tracing === undefined ? {} : { tracing: withTokenFile(tracing, at) }),
  };
  return { config, problems };
}

/** Files of secrets are relative to gantry.yaml. */
function withPaths({ tokens, oidc, grants }: AuthConfig, at: (path: string) => string): AuthConfig {
  const secret = oidc?.clientSecretFile;
  return {
    ...withoutUndefined({ grants }),
    ...(tokens === undefined ? {} : { tokens: tokens.map((token) => ({ ...token, file: at(token.file) })) }),
    ...(oidc === undefined
      ? {}
      : { oidc: { ...oidc, ...(secret === undefined ? {} : { clientSecretFile: at(secret) }) } }),
  };
}

const withTokenFile = (tracing: TracingConfig, at: (path: string) => string): TracingConfig =>
  tracing.tokenFile === undefined ? tracing : { ...tracing, tokenFile: at(tracing.tokenFile) };

/** Refuses a key that each copy of the state would have, too. */
function checkStateKey(
  { stateDir = 'state', stateKey }: NonNullable<ControllerFile['controller']>,
  folder: string,
  report: Report,
): void {
  if (stateKey !== undefined && resolve(folder, stateKey).startsWith(`${resolve(folder, stateDir)}${sep}`))
    report('controller.stateKey', 'is in stateDir: who reads the state would have its key', 'name a file elsewhere');
}

/** Refuses an API without logins that other machines can reach. */
function checkListener(
  { listen, auth, tls, anonymous }: NonNullable<ControllerFile['controller']>,
  report: Report,
): void {
  if (listen === undefined) return;
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(listen);
  const host = match?.[1] ?? match?.[2];
  if (match === null || host === undefined || Number(match[3]) > 65_535)
    return report('controller.listen', `must be ADDRESS:PORT such as 127.0.0.1:8440, is ${JSON.stringify(listen)}`);
  if (!isLoopback(host) && tls === undefined)
    report('controller.listen', `is ${listen}, which others reach: tokens need TLS`, 'set controller.tls');
  if (auth === undefined && anonymous === undefined)
    report('controller.listen', 'is given, but no caller has access', 'set controller.auth or `anonymous: view`');
}

/** Refuses an interval that would read a source without a pause. */
function checkIntervals(sources: ControllerFile['sources'], report: Report): void {
  for (const [index, { name: _name, webhook: _webhook, ...kinds }] of sources.entries())
    for (const [kind, { interval }] of Object.entries(kinds))
      if (interval !== undefined && (durationMs(interval) ?? 0) < 100)
        report(`sources.${index}.${kind}.interval`, `must be at least 100ms, is ${JSON.stringify(interval)}`);
}

function checkGrants({ auth }: NonNullable<ControllerFile['controller']>, report: Report): void {
  const known = (auth?.tokens ?? []).map(({ name }) => name);
  for (const [index, { users = [], groups = [], sets, hosts = [], rights }] of (auth?.grants ?? []).entries()) {
    const at = `controller.auth.grants.${index}`;
    if (users.length + groups.length === 0) report(at, 'names neither users nor groups', 'name users or groups');
    for (const [place, user] of users.entries())
      if (!known.includes(user)) report(`${at}.users.${place}`, `there is no token of ${user}`);
    if (groups.length > 0 && auth?.oidc === undefined) report(`${at}.groups`, 'needs controller.auth.oidc');
    if (sets !== undefined && rights.includes('console'))
      report(
        `${at}.sets`,
        'cannot be limited to sets for the right console',
        'grant console by hosts, in a separate entry',
      );
    if (hosts.length > 0 && rights.includes('view'))
      report(`${at}.hosts`, 'cannot be limited to hosts for the right view', 'grant view by sets, in a separate entry');
    for (const [place, text] of hosts.entries()) {
      const pattern = parseHostPattern(text);
      if (typeof pattern === 'string') report(`${at}.hosts.${place}`, pattern);
      else if (pattern.by === 'group')
        report(`${at}.hosts.${place}`, 'must be a name or labels', 'give the group a label');
    }
  }
}

function checkProxies({ trustedProxies = [] }: NonNullable<ControllerFile['controller']>, report: Report): void {
  for (const [index, text] of trustedProxies.entries())
    if (networkOf(text) === undefined)
      report(
        `controller.trustedProxies.${index}`,
        `must be an address or a network such as 10.0.0.0/24, is ${JSON.stringify(text)}`,
      );
}

function checkTracing({ endpoint, headers = {} }: TracingConfig = {}, report: Report): void {
  if (endpoint !== undefined && !isCollectorUrl(endpoint))
    report('tracing.endpoint', `must be a URL such as http://127.0.0.1:4318, is ${JSON.stringify(endpoint)}`);
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) report(`tracing.headers.${name}`, 'is not the name of a header');
    if (!/^[\t -~]*$/.test(value)) report(`tracing.headers.${name}`, 'must be printable ASCII');
  }
}

// Checks the generators of gantry.yaml, and reads generated sets like written ones.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { parseHostPattern } from '../../core/documents/host-pattern.ts';
import { wrong, type Finding } from '../../manifest/text/finding.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import { generatorKinds, type PullRequestsConfig } from './generator-schema.ts';
import type { ReadGenerated } from './config.ts';
import { pushable } from './check-names.ts';
import { readOwnedSet } from './read-owned-set.ts';
import { readTenant } from './read-tenants.ts';
import { reportInto, type Report } from './report.ts';
import type { ControllerFile } from './schema.ts';

export function checkGenerators({ generators = [], sources }: ControllerFile, report: Report): void {
  const known = sources.map(({ name }) => name);
  for (const [index, generator] of generators.entries()) {
    const at = `generators.${index}`;
    const { name, hosts = [], directories, pullRequests } = generator;
    if (generators.findIndex((one) => one.name === name) !== index)
      report(`${at}.name`, `the name ${name} is used twice in generators`);
    const kinds = generatorKinds.filter((kind) => generator[kind] !== undefined);
    if (kinds.length !== 1)
      report(at, `${name} must have exactly one of ${generatorKinds.join(', ')}; it has ${kinds.length}`);
    for (const text of typeof hosts === 'string' ? [hosts] : hosts) {
      const pattern = parseHostPattern(text);
      if (typeof pattern === 'string') report(`${at}.hosts`, pattern);
    }
    for (const [key, source] of [
      ['directories', directories?.source],
      ['pullRequests', pullRequests?.source],
    ] as const)
      if (source !== undefined && !known.includes(source))
        report(`${at}.${key}.source`, `names no source: there is no ${source}${hint(source, known)}`);
    if (pullRequests !== undefined) checkRequests(pullRequests, sources, `${at}.pullRequests`, report);
  }
}

function checkRequests(
  { provider, api, source, interval }: PullRequestsConfig,
  sources: ControllerFile['sources'],
  at: string,
  report: Report,
): void {
  const found = sources.find(({ name }) => name === source);
  if (found !== undefined && found.git === undefined) report(`${at}.source`, `must be a git source: ${source} is none`);
  if (provider === 'gitea' && api === undefined)
    report(`${at}.api`, 'is needed for Gitea, such as https://git.example.org/api/v1');
  if (api !== undefined && !/^https?:\/\/[^@]+$/.test(api))
    report(`${at}.api`, 'must be an http or https URL without a password');
  if (interval !== undefined && (durationMs(interval) ?? 0) < 1000)
    report(`${at}.interval`, `must be a duration of at least 1s such as 1m, is ${JSON.stringify(interval)}`);
}

export function readerOfGenerated(file: ControllerFile, folder: string): ReadGenerated {
  const tenants = (file.tenants ?? []).map((tenant) => readTenant(tenant, '', folder, () => {}));
  const sources = file.sources.map(({ name }) => name);
  const notifications = (file.notifications ?? []).map(({ name }) => name);
  return (set, at) => {
    const problems: Finding[] = [];
    const report = reportInto(problems);
    const named = (path: string, what: string, name: string, known: readonly string[]): void => {
      if (!known.includes(name))
        problems.push(wrong('bad-config', path, `there is no ${what} ${name}${hint(name, known)}`));
    };
    named(`${at}.source`, 'source', set.source, sources);
    for (const name of set.notify ?? []) named(`${at}.notify`, 'notification', name, notifications);
    problems.push(...pushable(`${at}.images`, set, file.sources));
    const read = readOwnedSet(file, tenants, set, { at, folder, report });
    return problems.length > 0 ? { problems } : { set: read, problems };
  };
}

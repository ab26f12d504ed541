// Checks the config of the server in a request against the table of its keys. Pure.
import { countProblems, maxProblems, unknownName, type Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import { lxdKey } from './lxd-keys.ts';
import { normalValue, serverConfigKey, serverConfigKeys, userKey, type ServerConfigKey } from './server-config.ts';

/**
 * Every problem of the config in a request, in the order of the keys. Values are strings; null unsets like empty text, and true keeps
 * the stored value of a hidden key.
 */
export function validateServerConfig(sent: Readonly<Record<string, unknown>>): Problem[] {
  const problems: Problem[] = [...countProblems('config', sent)];
  for (const key of Object.keys(sent).toSorted()) {
    if (problems.length >= maxProblems) break;
    const value = sent[key];
    const fact = serverConfigKey(key);
    if (fact === undefined) {
      problems.push(unknownKey(key));
      continue;
    }
    const message = wrong(fact, key, value);
    if (message !== undefined) problems.push({ path: `config.${key}`, message });
  }
  return problems;
}

const unknownKey = (key: string): Problem => {
  const isOfLxd = lxdKey('server_config', key)?.isNamed === true;
  if (isOfLxd)
    return {
      path: `config.${key}`,
      message: `${is.shown(key)} is a key of LXD without effect here`,
      code: 'unknownKey',
    };
  return unknownName(
    'unknownKey',
    `config.${key}`,
    key,
    Object.keys(serverConfigKeys),
    (hint) => `unknown key ${is.shown(key)}${hint || '; free keys start with user.'}`,
  );
};

function wrong(fact: ServerConfigKey, key: string, value: unknown): string | undefined {
  if (value === null || value === '' || (fact.hidden === true && value === true)) return undefined;
  if (typeof value !== 'string') return `cannot set ${key}: values are strings, this is ${named(value)}`;
  if (fact.default !== undefined && normalValue(fact, value) === fact.default) return undefined;
  const broken = (fact === userKey ? is.manyLines : is.oneLine)(value) ?? is.judge(fact.check, value, 'list');
  if (broken === undefined) return undefined;
  return `cannot set ${key} to ${fact.hidden === true ? '***' : is.shown(value)}: it ${broken}`;
}

const named = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;

// Checks the whole config of a managed network, all problems at once; pure, reads no host.
import { cidrsOverlap, containsIp, parseCidr, parseIp, parseIpRange, type IpFamily } from '../text/ip.ts';
import { findNetworkConfigKey, networkConfigKeys } from './network-config.ts';
import { networkBool, networkValueRule, splitList } from './network-values.ts';
import { networkName } from '../names.ts';
import { countProblems, maxProblems, unknownName, type Problem } from '../problem.ts';
import { shown } from '../text/value-checks.ts';

/** Lists of ranges, or lines for dnsmasq. Parsing longer ones would block all other requests. */
const longestValue = 65_536;

type Config = Readonly<Record<string, string>>;

/** Empty = valid. `auto` is valid: fillConfig resolves it. */
export function validateNetworkConfig(name: string, config: Config): Problem[] {
  const problems: Problem[] = [...countProblems('config', config)];
  const broken = networkName(name);
  if (broken !== undefined) problems.push({ path: 'name', message: `name ${JSON.stringify(name)} ${broken}` });
  for (const [key, value] of Object.entries(config)) {
    if (problems.length >= maxProblems) return problems;
    problems.push(...checkKey(key, value));
  }
  // For an invalid value, rules across keys would only repeat or confuse the message.
  const wrong = new Set(problems.map((problem) => problem.path));
  const sound = Object.fromEntries(Object.entries(config).filter(([key]) => !wrong.has(pathOf(key))));
  problems.push(
    ...checkFan(name, sound),
    ...checkTunnels(name, sound),
    ...checkMtu(sound),
    ...checkFamily(sound, 4),
    ...checkFamily(sound, 6),
  );
  return problems;
}

function pathOf(key: string): string {
  return `config.${key}`;
}

function problem(key: string, value: string, rule: string): Problem {
  return { path: pathOf(key), message: `${key}: ${shown(value)} ${rule}` };
}

function checkKey(key: string, value: string): Problem[] {
  const entry = findNetworkConfigKey(key);
  if (entry === undefined) return [unknownKey(key)];
  const rule =
    value.length > longestValue && !key.startsWith('user.')
      ? `must have at most ${longestValue} characters`
      : networkValueRule(entry.type, value);
  return rule === undefined ? [] : [problem(key, value, rule)];
}

function unknownKey(key: string): Problem {
  // Replaces the pattern's NAME with the tunnel's, so that only the rest is compared.
  const tunnel = /^tunnel\.([^.]+)\./.exec(key)?.[1] ?? 'NAME';
  const candidates = networkConfigKeys
    .filter((entry) => !entry.key.endsWith('*'))
    .map((entry) => entry.key.replace('NAME', tunnel));
  return unknownName(
    'unknownKey',
    pathOf(key),
    key,
    candidates,
    (hint) => `${key}: unknown key${hint || '; free keys start with user.'}`,
  );
}

function has(config: Config, key: string): boolean {
  return (config[key] ?? '') !== '';
}

function checkFan(name: string, config: Config): Problem[] {
  const isFan = config['bridge.mode'] === 'fan';
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(config)) {
    if (value === '') continue;
    if (isFan && /^ipv[46]\./.test(key)) problems.push(problem(key, value, 'must be absent when bridge.mode is fan'));
    if (!isFan && key.startsWith('fan.')) problems.push(problem(key, value, 'needs bridge.mode to be fan'));
  }
  if (isFan && name.length > 11) {
    problems.push({
      path: 'name',
      message: `name ${JSON.stringify(name)} must have at most 11 characters in fan mode`,
    });
  }
  return problems;
}

export function tunnelNames(config: Config): string[] {
  const names = Object.keys(config).flatMap((key) => /^tunnel\.([^.]+)\./.exec(key)?.[1] ?? []);
  return [...new Set(names)].sort();
}

function checkTunnels(name: string, config: Config): Problem[] {
  return tunnelNames(config).flatMap((tunnel) => checkTunnel(name, tunnel, config));
}

function checkTunnel(name: string, tunnel: string, config: Config): Problem[] {
  const key = (option: string): string => `tunnel.${tunnel}.${option}`;
  const value = (option: string): string => config[key(option)] ?? '';
  const problems: Problem[] = [];
  const add = (option: string, rule: string): void => {
    problems.push(problem(key(option), value(option), rule));
  };
  if (name.length + tunnel.length > 14 || !/^[-_a-zA-Z0-9]+$/.test(tunnel)) {
    problems.push({
      path: `config.tunnel.${tunnel}`,
      message: `tunnel ${JSON.stringify(tunnel)} must be letters, digits, - _ and together with ${name} at most 14 characters`,
    });
  }
  if (value('protocol') === '') add('protocol', 'must be set to gre or vxlan');
  if ((value('local') === '') !== (value('remote') === '')) {
    add(value('local') === '' ? 'local' : 'remote', 'must be set: local and remote go together');
  } else if (value('protocol') === 'gre' && value('local') === '') {
    add('remote', 'must be set with local for a gre tunnel');
  }
  const families = new Set([value('local'), value('remote')].flatMap((text) => parseIp(text)?.family ?? []));
  if (families.size > 1) add('remote', 'must be of the same family as local');
  if (value('remote') !== '' && value('group') !== '') add('group', 'must be absent when remote is set');
  if (value('protocol') === 'gre') {
    for (const option of ['group', 'id', 'interface', 'port', 'ttl']) {
      if (value(option) !== '') add(option, 'is for vxlan tunnels only');
    }
  }
  return problems;
}

function checkMtu(config: Config): Problem[] {
  if (!has(config, 'bridge.mtu')) return [];
  const text = config['bridge.mtu'] ?? '';
  const mtu = Number(text);
  if (has(config, 'ipv6.address') && config['ipv6.address'] !== 'none' && mtu < 1280) {
    return [problem('bridge.mtu', text, 'must be at least 1280 with IPv6')];
  }
  const fanLimit = config['fan.type'] === 'ipip' ? 1480 : 1450;
  if (config['bridge.mode'] === 'fan' && mtu > fanLimit) {
    return [problem('bridge.mtu', text, `must be at most ${fanLimit} in fan mode`)];
  }
  return [];
}

function checkFamily(config: Config, family: IpFamily): Problem[] {
  const problems: Problem[] = [];
  const v = `ipv${family}`;
  const address = config[`${v}.address`] ?? '';
  const subnet = parseCidr(address);
  if (subnet === undefined) return problems;
  const dhcp = networkBool(config[`${v}.dhcp`], true);
  const stateful = networkBool(config['ipv6.dhcp.stateful'], false);
  if (family === 6 && dhcp && !stateful && subnet.prefix !== 64) {
    problems.push(
      problem(`${v}.address`, address, 'must be a /64 unless ipv6.dhcp.stateful is true or ipv6.dhcp is false'),
    );
  }
  if (family === 6 && dhcp && stateful && subnet.prefix < 64) {
    problems.push(problem(`${v}.address`, address, 'must be a /64 or smaller for DHCP'));
  }
  // A /31 or /32 has no free address.
  if (family === 4 && dhcp && subnet.prefix > 30) {
    problems.push(problem(`${v}.address`, address, 'must be a /30 or larger unless ipv4.dhcp is false'));
  }
  for (const text of splitList(config[`${v}.dhcp.ranges`])) {
    const range = parseIpRange(text);
    if (range === undefined || (containsIp(subnet, range.first) && containsIp(subnet, range.last))) continue;
    problems.push(problem(`${v}.dhcp.ranges`, text, `must lie within ${v}.address ${address}`));
  }
  const gateway = parseIp(config[`${v}.dhcp.gateway`] ?? '');
  if (gateway !== undefined && !containsIp(subnet, gateway)) {
    problems.push(
      problem(`${v}.dhcp.gateway`, config[`${v}.dhcp.gateway`] ?? '', `must lie within ${v}.address ${address}`),
    );
  }
  for (const text of splitList(config[`${v}.routes`])) {
    const route = parseCidr(text);
    if (route === undefined || !cidrsOverlap(route, subnet)) continue;
    problems.push(problem(`${v}.routes`, text, `must not overlap ${v}.address ${address}`));
  }
  return problems;
}

// The accepted values of container config, and the messages for refused ones.
import { describe, expect, test } from 'vitest';
import {
  containerConfigKey,
  containerConfigKeys,
  effectOfContainerKey,
  isTrue,
  isVolatile,
  validateContainerConfig,
} from '../../server/api/container/container-config.ts';

const check = (config: Record<string, string>, profile = false, previous?: Record<string, string>) =>
  validateContainerConfig(config, previous === undefined ? { profile } : { profile, previous });
const passes = (key: string, value: string) => check({ [key]: value }).length === 0;

const accepted: Record<string, readonly string[]> = {
  'boot.autostart': ['true', 'FALSE', '1', '0', 'yes', 'No', 'on', 'off'],
  'boot.stop.priority': ['-5', '0', '9223372036854775807', '+3'],
  'limits.cpu': ['0', '1', '02', '16', '0-3', '0,2', '1-1', '0-1,4,6-7', '0-100'],
  'limits.cpu.allowance': ['50%', '100%', '25ms/100ms'],
  'limits.cpu.priority': ['0', '10'],
  'limits.memory': ['512', '512MB', '2GiB', '512 bytes', '50%', '100%'],
  'limits.hugepages.2MB': ['0', '64MiB', '1GB'],
  'cluster.evacuate': ['auto', 'stop', 'migrate', 'live-migrate'],
  'security.idmap.size': ['65536', '1000000'],
  'limits.kernel.nofile': ['1024', '1024:2048', 'unlimited', '1:unlimited'],
  'limits.processes': ['1', '500'],
  'linux.kernel_modules': ['overlay', 'overlay,nf_nat', 'overlay, nf_nat'],
  'linux.sysctl.net.ipv4.ip_local_port_range': ['1', '32768 60999'],
  'linux.sysctl.kernel.shm_rmid_forced': ['1'],
  'raw.idmap': ['both 1000 1000', 'uid 1000-1005 0-5\ngid 1000-1005 0-5\n'],
  'raw.lxc': ['lxc.tty.max = 4\n# note\n\nlxc.net.0.ipv4.address = 10.0.0.2/24', 'lxc.net.0.ipv6.gateway=fd42::1'],
  'snapshots.schedule': ['* * * * *', '*/5 0-6 1,15 jan-mar mon', '@daily'],
  'snapshots.expiry': ['1M', '2w 1d', '1y 1m 1w 1d 1H 1M'],
  'snapshots.pattern': ['snap%d', '{{ creation_date }}'],
  'user.meta-data': ['#cloud-config\nusers: []'],
  'environment.PATH': ['/bin:/sbin'],
  'image.os': ['Debian'],
  'volatile.eth0.hwaddr': ['00:16:3e:01:02:03'],
  'volatile.my.nic.host_name': ['veth12345678'],
};
const refused: Record<string, readonly string[]> = {
  'boot.autostart': ['2', 'maybe', 'true\n', ' true'],
  'boot.stop.priority': ['1.5', 'x', '9223372036854775808', '1e3'],
  'limits.cpu': ['-1', '1-', ',1', '3-1', '1--2', 'a', '1,,2', '1.5'],
  'limits.cpu.allowance': ['50', '0%', '25ms', '25/100', '25ms/2000ms', '0ms/100ms'],
  'limits.cpu.priority': ['-1', '11'],
  'limits.memory': ['5 GB', '1.5GiB', '512mb', '0', '0%', '101%', '-1'],
  'limits.hugepages.1GB': ['many', '50%'],
  'cluster.evacuate': ['never'],
  'security.idmap.size': ['1', '65535', '4294967296'],
  'limits.kernel.nofile': ['many', '1:2:3', '-1', '2048:1024', 'unlimited:1024'],
  'limits.processes': ['0', '-1', 'max'],
  'linux.kernel_modules': ['-f', 'a/b', 'a,,b', 'a b'],
  'linux.sysctl.net.ipv4.ip_forward': ['1\n2', 'é'],
  'raw.idmap': ['both 1000', 'all 1 1', 'both 1-2 1-3', 'both 5-1 5-1'],
  'raw.lxc': ['lxc.tty.max', 'lxc.log.file = /x', 'lxc.prlimit.nofile = 5', 'lxc.net.0.type = veth', 'lxc.ephemeral=1'],
  'snapshots.schedule': ['* * * *', '60 * * * *', '* * * * * *', '@reboot', '5-1 * * * *', '*/0 * * * *'],
  'snapshots.expiry': ['1', '1d 2d', '1 d', '1x', '-1d'],
  'snapshots.pattern': ['%d%d', 'a/b'],
  'environment.PATH': ['a\nlxc.init.cmd = /bin/sh', 'a\0b'],
  'user.x': ['a\0b'],
  'volatile.eth0.hwaddr': ['01:16:3e:01:02:03', 'nonsense'],
};

describe('container config', () => {
  test.each(['ip_forward', 'net/ipv4/ip_forward', 'net..x', 'net.', '../x', 'net.ipv4.x=1'])(
    'linux.sysctl.%s is no kernel parameter',
    (name) => {
      expect(check({ [`linux.sysctl.${name}`]: '1' }).map(({ path }) => path)).toEqual([`config.linux.sysctl.${name}`]);
    },
  );
  for (const [key, values] of Object.entries(accepted)) {
    test(`${key} accepts every value of its form`, () => {
      for (const value of values) expect(check({ [key]: value }), value).toEqual([]);
    });
  }
  for (const [key, values] of Object.entries(refused)) {
    test(`${key} refuses a value of another form, and the message has the key, the value and the rule`, () => {
      for (const value of values) {
        const [problem, ...others] = check({ [key]: value });
        expect(others).toEqual([]);
        expect(problem?.path, value).toBe(`config.${key}`);
        expect(problem?.message).toMatch(/cannot be ".*": it (must|has)/s);
        expect(problem?.message).toContain(key);
      }
    });
  }

  test('every key accepts empty text, which means unset', () => {
    for (const key of Object.keys(containerConfigKeys)) {
      expect(
        check({
          [key.replace('kernel.*', 'kernel.nofile').replace('hugepages.*', 'hugepages.2MB').replace('*', 'x.y')]: '',
        }),
        key,
      ).toEqual([]);
    }
  });

  test('every default of the table passes its own check', () => {
    for (const key of Object.keys(containerConfigKeys)) {
      const fallback = containerConfigKey(key)?.fact.default;
      if (fallback !== undefined) expect(passes(key, fallback), `${key}=${fallback}`).toBe(true);
    }
  });

  test('the message about an unknown key has the nearest known one', () => {
    expect(check({ 'limits.memroy': '1GB' })).toEqual([
      {
        path: 'config.limits.memroy',
        message: 'unknown key "limits.memroy" (did you mean limits.memory?)',
        code: 'unknownKey',
        near: 'limits.memory',
      },
    ]);
    expect(check({ nonsense: 'x' })[0]?.message).toBe('unknown key "nonsense"');
    expect(check({ 'volatile.nonsense': 'x' })[0]?.message).toContain('unknown key');
    expect(check({ 'limits.kernel.fishes': '1' })[0]?.message).toContain('must be one of as, core');
    expect(check({ 'user.': 'x' })[0]?.message).toContain('unknown key');
    expect(check({ 'user.*': 'x' })).toEqual([]);
    expect(check({ 'environment.A B': 'x' })[0]?.message).toContain('name of a variable');
    expect(check({ 'environment.A\nB': 'x' })).toHaveLength(1);
  });

  test('keys that only other servers have are refused with an alternative', () => {
    const messageOf = (key: string) => check({ [key]: 'true' })[0]?.message ?? '';
    expect(messageOf('security.syscalls.intercept.mknod')).toMatch(/unknown key.*does not intercept system calls/);
    expect(messageOf('limits.hugepages.3MB')).toContain('must be one of 64KB, 1MB, 2MB, 1GB');
  });

  test('all problems of a config are collected', () => {
    const problems = check({ 'limits.cpu': 'x', 'limits.memory': 'y', other: 'z', 'boot.autostart': 'true' });
    expect(problems.map((problem) => problem.path)).toEqual([
      'config.limits.cpu',
      'config.limits.memory',
      'config.other',
    ]);
  });

  test('a profile cannot have volatile and image keys', () => {
    expect(check({ 'volatile.eth0.hwaddr': '00:16:3e:01:02:03', 'image.os': 'x', 'user.a': 'b' }, true)).toHaveLength(
      2,
    );
  });

  test('unchanged entries pass whatever their values', () => {
    const stored = { 'limits.cpu': 'broken', 'volatile.other': 'x' };
    expect(check(stored, false, stored)).toEqual([]);
    expect(check({ ...stored, 'limits.cpu': 'also broken' }, false, stored)).toHaveLength(1);
  });

  test('a whole seccomp policy excludes the system call lists, and a whitelist the blacklists', () => {
    expect(check({ 'raw.seccomp': '2', 'security.syscalls.whitelist': 'read' })[0]?.path).toBe('config.raw.seccomp');
    expect(
      check({ 'security.syscalls.whitelist': 'read', 'security.syscalls.blacklist_compat': 'true' })[0]?.path,
    ).toBe('config.security.syscalls.whitelist');
    expect(check({ 'security.syscalls.allow': 'read', 'security.syscalls.blacklist': 'mount' })[0]?.path).toBe(
      'config.security.syscalls.allow',
    );
    expect(check({ 'security.syscalls.deny': 'mount', 'security.syscalls.blacklist': 'mount' })).toEqual([
      {
        path: 'config.security.syscalls.blacklist',
        message: 'security.syscalls.blacklist cannot be set together with security.syscalls.deny: unset one side',
      },
    ]);
    expect(check({ 'security.syscalls.deny': 'mount', 'security.syscalls.deny_default': 'false' })).toEqual([]);
    expect(check({ 'raw.seccomp': '', 'security.syscalls.whitelist': 'read' })).toEqual([]);
    expect(check({ 'security.syscalls.blacklist': 'mount', 'security.syscalls.blacklist_default': 'false' })).toEqual(
      [],
    );
  });

  test('messages truncate long values', () => {
    expect(check({ 'limits.cpu': 'x'.repeat(5000) })[0]?.message.length).toBeLessThan(250);
  });

  test('the effect of a change on a running container is known', () => {
    expect(effectOfContainerKey('limits.memory')).toBe('live');
    expect(effectOfContainerKey('limits.kernel.nofile')).toBe('restart');
    expect(effectOfContainerKey('security.privileged')).toBe('restart');
    expect(effectOfContainerKey('user.anything')).toBe('none');
    expect(effectOfContainerKey('unheard.of')).toBe('none');
  });

  test('volatile keys and booleans are recognized', () => {
    expect([isVolatile('volatile.eth0.name'), isVolatile('user.volatile.x')]).toEqual([true, false]);
    expect(['true', 'True', '1', 'YES', 'on', 'false', '0', '', 'enabled'].map(isTrue)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(isTrue(undefined)).toBe(false);
  });
});

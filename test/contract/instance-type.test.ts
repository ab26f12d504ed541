// Instance types and architectures: names in, limits and ids out.
import { describe, expect, test } from 'vitest';
import {
  architectureId,
  architectureName,
  architectureRule,
  architecturesOfHost,
} from '../../server/api/image/architectures.ts';
import { validateContainerConfig } from '../../server/api/container/container-config.ts';
import {
  applyInstanceType,
  limitsOfInstanceSize,
  parseInstanceType,
} from '../../server/api/container/instance-type.ts';

const clouds = {
  aws: { 't2.micro': { cpus: 1, memoryGb: 1 }, shared: { cpus: 1 } },
  gce: { 'f1-micro': { cpus: 0.2, memoryGb: 0.6 }, shared: { cpus: 2 } },
};

describe('instance types', () => {
  test.each([
    ['c2-m4', { 'limits.cpu': '2', 'limits.memory': '4096MB' }],
    ['m4-c2', { 'limits.cpu': '2', 'limits.memory': '4096MB' }],
    ['c1', { 'limits.cpu': '1' }],
    ['m0.5', { 'limits.memory': '512MB' }],
    ['c0.5-m1', { 'limits.cpu': '1', 'limits.cpu.allowance': '50%', 'limits.memory': '1024MB' }],
    ['c1.5', { 'limits.cpu': '2', 'limits.cpu.allowance': '75%' }],
    ['t2.micro', { 'limits.cpu': '1', 'limits.memory': '1024MB' }],
    ['gce:f1-micro', { 'limits.cpu': '1', 'limits.cpu.allowance': '20%', 'limits.memory': '614MB' }],
  ])('%s means %j, which is valid config', (type, limits) => {
    const config = applyInstanceType(type, {}, clouds);
    expect(config).toEqual(limits);
    expect(validateContainerConfig(config as Record<string, string>, { profile: false })).toEqual([]);
  });

  test.each([
    ['c0'],
    ['c2-c4'],
    ['c-m'],
    [''],
    ['x5'],
    ['c2-m4-x'],
    ['azure:a'],
    ['aws:f1-micro'],
    ['toString'],
    ['c-1'],
  ])('%j is refused with a hint', (type) =>
    expect(parseInstanceType(type, clouds)).toMatch(/is no instance type|is unknown/),
  );

  test('a type that several clouds have is ambiguous', () => {
    expect(parseInstanceType('shared', clouds)).toBe('"shared" is a type of aws and gce: say which, as in aws:shared');
    expect(parseInstanceType('gce:shared', clouds)).toEqual({ cpus: 2 });
  });

  test('explicit config wins over that of the type', () => {
    expect(applyInstanceType('c2-m4', { 'limits.cpu': '1' })).toEqual({ 'limits.cpu': '1', 'limits.memory': '4096MB' });
    expect(limitsOfInstanceSize({})).toEqual({});
  });
});

describe('architectures', () => {
  test('are found by all their names', () => {
    expect(
      ['amd64', 'x86_64', 'i386', 'arm64', 'armhf', 'ppc64el', 'powerpc64', 's390x', 'vax'].map(architectureName),
    ).toEqual(['x86_64', 'x86_64', 'i686', 'aarch64', 'armv7l', 'ppc64le', 'ppc64', 's390x', undefined]);
  });
  test('have the usual numeric ids', () => {
    expect(
      ['i686', 'x86_64', 'armv7l', 'aarch64', 'ppc', 'ppc64', 'ppc64le', 's390x', 'vax'].map(architectureId),
    ).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 0]);
  });
  test('a 64-bit host also runs its 32-bit personality', () => {
    expect(architecturesOfHost('x86_64')).toEqual(['x86_64', 'i686']);
    expect(architecturesOfHost('s390x')).toEqual(['s390x']);
    expect(architecturesOfHost('riscv64')).toEqual(['riscv64']);
  });
  test('an unknown one is refused with the nearest name', () => {
    expect(architectureRule('x86_65')).toContain('(did you mean x86_64?)');
    expect(architectureRule('amd64')).toBeUndefined();
  });
});

// Settings of containers that LXD 5.0.2 refuses when they are written, over the real daemon on the simulation.
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContainer, emptySource } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
let count = 0;
const fresh = (): string => `r${(count += 1)}`;
const refusalOf = async (method: string, path: string, body: object): Promise<string> => {
  const { status, body: answer } = await daemon.call(method, path, body);
  if (status === 202) expect((await daemon.wait(String(answer.operation))).err).toBe('');
  return status < 300 ? '' : `${status} ${answer.metadata.details[0].path}: ${answer.metadata.details[0].message}`;
};
const create = (body: object): Promise<string> =>
  refusalOf('POST', '/1.0/containers', { name: fresh(), source: emptySource, ...body });
const profile = async (body: object): Promise<string> => {
  const name = fresh();
  expect(await refusalOf('POST', '/1.0/profiles', { name, ...body })).toBe('');
  return name;
};

describe('a disk whose source is missing', () => {
  const missing = expect.stringMatching(/^400 devices\.data\.source: cannot be .*: it does not exist on this host/);
  let source: string;
  let optional: object;
  let required: object;
  beforeAll(() => {
    source = join(daemon.dir, 'unmounted');
    required = { data: { type: 'disk', path: '/data', source } };
    optional = { data: { type: 'disk', path: '/data', source, required: 'false' } };
  });

  test('is refused for a new container, by itself and in a profile, unless it is not required', async () => {
    expect(await create({ devices: required })).toEqual(missing);
    expect(await create({ devices: optional })).toBe('');
    expect(await create({ profiles: ['default', await profile({ devices: required })] })).toEqual(missing);
    expect(await create({ profiles: ['default', await profile({ devices: optional })] })).toBe('');
  });

  test('is refused when a container gets it, and blocks no other change of one that has it', async () => {
    const name = fresh();
    const path = `/1.0/containers/${name}`;
    await createContainer(daemon, name);
    const profiles = ['default', await profile({ devices: required })];
    expect(await refusalOf('PATCH', path, { devices: required })).toEqual(missing);
    expect(await refusalOf('PUT', path, { profiles: ['default'], devices: required })).toEqual(missing);
    expect(await refusalOf('PATCH', path, { profiles })).toEqual(missing);
    mkdirSync(source);
    expect(await refusalOf('PATCH', path, { devices: required })).toBe('');
    rmdirSync(source);
    expect(await refusalOf('PUT', path, { profiles, devices: required, description: 'd' })).toBe('');
    expect(await refusalOf('POST', '/1.0/containers', { name: fresh(), source: { type: 'copy', source: name } })).toBe(
      '',
    );
  });
});

test('nvidia.runtime is refused in a privileged container, also by profiles, and one that has both can change', async () => {
  const both = expect.stringMatching(/^400 config\.nvidia\.runtime: .* does not work in privileged containers/);
  const [nvidia, privileged] = [{ 'nvidia.runtime': 'true' }, { 'security.privileged': 'true' }];
  expect(await create({ config: { ...nvidia, ...privileged } })).toEqual(both);
  const name = await profile({ config: privileged });
  expect(await create({ profiles: ['default', name], config: nvidia })).toEqual(both);
  const container = fresh();
  await createContainer(daemon, container, { profiles: ['default', name] });
  const path = `/1.0/containers/${container}`;
  expect(await refusalOf('PATCH', path, { config: nvidia })).toEqual(both);
  expect(await refusalOf('PUT', `/1.0/profiles/${name}`, { config: {} })).toBe('');
  expect(await refusalOf('PATCH', path, { config: nvidia })).toBe('');
  expect(await refusalOf('PUT', `/1.0/profiles/${name}`, { config: privileged })).toBe('');
  expect(await refusalOf('PATCH', path, { config: { 'user.a': 'b' } })).toBe('');
});

test('a root disk of size 0 has no limit, and counts as without a size where the project needs one', async () => {
  const sized = (size: string): object => ({ root: { type: 'disk', path: '/', pool: 'default', size } });
  expect(await create({ devices: sized('0') })).toBe('');
  expect(await create({ devices: sized('0GiB') })).toBe('');
  expect(await create({ devices: sized('-1') })).toMatch(/^400 devices\.root\.size/);
  const config = { 'features.images': 'false', 'limits.disk': '1GiB' };
  expect(await refusalOf('POST', '/1.0/projects', { name: 'sized', config })).toBe('');
  const path = '/1.0/containers?project=sized';
  const body = { name: 'r', source: emptySource, profiles: [], devices: sized('0') };
  expect(await refusalOf('POST', path, body)).toMatch(/^40[03] devices\.root\.size/);
});

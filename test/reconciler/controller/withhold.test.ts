// Values that can hold a secret or a command: the role view never gets them, and no message, log line, history or event quotes them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ControllerEvent, ObjectDetail } from '../../../reconciler/controller/contract/index.ts';
import { listen, type HttpListener } from '../../../reconciler/controller/http/listener.ts';
import { guardedTexts, withoutTexts } from '../../../reconciler/controller/decide/withhold.ts';
import { ask, tokens } from '../../support/controller/http-harness.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const kept = ['/usr/bin/evil --now', 'do not tell', 'open sesame', 'another tale', '1.2.3.4/wifi-word'] as const;
const [hook, environment, seed, stray, network] = kept;

const manifest = (image: string): string => `kind: profile
name: web
config:
  raw.lxc: "lxc.hook.pre-start = ${hook}"
  environment.TALE: ${environment}
  cloud-init.user-data: "#cloud-config\\nruncmd: ['${seed}']\\n"
  cloud-init.network-config: "wifi: ${network}"
  limits.memory: 512MiB
---
kind: container
name: c1
source: { type: image, alias: "${image}" }
config: { environment.TALE: ${environment} }
`;

let world: ControllerWorld;
let api: HttpListener;
const heard: ControllerEvent[] = [];
const get = async (path: string, token: string): Promise<string> => {
  const { status, text } = await ask(`${api.url}${path}`, { token });
  expect(status).toBe(200);
  return text;
};
const detail = async (token: string): Promise<ObjectDetail> =>
  JSON.parse(await get('/api/v1/sets/web/object?host=h1&address=profile%2Fweb', token)) as ObjectDetail;

beforeAll(async () => {
  world = await openControllerWorld(1);
  mkdirSync(join(world.folder, 'tokens'));
  for (const [role, token] of Object.entries(tokens)) writeFileSync(join(world.folder, 'tokens', role), token);
  // The image does not exist, and the message about it quotes the value.
  await world.write('a.yaml', manifest(environment));
  const engine = await world.start();
  engine.subscribe((event) => void heard.push(event));
  const roles = ['view', 'operate'] as const;
  api = await listen({
    controller: engine,
    settings: {
      listen: '127.0.0.1:0',
      console: false,
      auth: { tokens: roles.map((role) => ({ name: role, role, file: join(world.folder, 'tokens', role) })) },
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  await hasStatus(world, 'web', 'failed');
  await until(async () => (await world.profile(1, 'web')) !== undefined, waitMs);
  await world.meddle(1, 'web', { 'raw.lxc': `lxc.hook.stop = ${stray}`, 'limits.memory': '1GiB' });
  await until(() => world.engine.drift('web').length > 0, waitMs);
  await until(async () => (await world.profile(1, 'web'))?.['limits.memory'] === '512MiB', waitMs);
});
afterAll(async () => {
  await api?.close();
  await world?.close();
});

describe('values that can hold a secret or a command', () => {
  test('are shown to the role operate and not to the role view, which sees the rest', async () => {
    const operator = JSON.stringify(await detail(tokens.operate));
    expect(operator).toContain(hook);
    expect(operator).toContain(environment);
    const viewer = await detail(tokens.view);
    for (const text of kept) expect(JSON.stringify(viewer)).not.toContain(text);
    expect(viewer.desired?.['config']).toMatchObject({
      'raw.lxc': '(shown to the role operate only)',
      'limits.memory': '512MiB',
    });
  });

  test('are in no status, object, history, drift, log line or event', async () => {
    const paths = [
      'overview',
      'logs?level=debug',
      'operations',
      ...['objects', 'history', 'drift'].map((one) => `sets/web/${one}`),
    ];
    const texts = await Promise.all(paths.map((path) => get(`/api/v1/${path}`, tokens.operate)));
    expect(texts.join()).toContain('the image alias (secret) is neither declared nor on the server');
    for (const text of kept) expect([...texts, JSON.stringify(heard)].join()).not.toContain(text);
  });

  test('are found in documents by one rule, which does not match ordinary words of messages', () => {
    const values = {
      config: {
        'raw.lxc': 'lxc.a = b c d\nlxc.e = f g h',
        'environment.MODE': 'production',
        'user.password': 'hunter',
      },
      exec: { reload: { command: ['systemctl', 'restart', 'my-nginx'] } },
    };
    const texts = guardedTexts([{ values }]);
    expect(withoutTexts('hunter: cannot run lxc.e = f g h, would restart my-nginx in production', texts)).toBe(
      '(secret): cannot run (secret), would restart (secret) in production',
    );
  });
});

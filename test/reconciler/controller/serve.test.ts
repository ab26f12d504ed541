// Webhooks of sources over the API of a controller, while its configuration is read again.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import type { ControllerConfig } from '../../../reconciler/controller/config/config.ts';
import type { Controller } from '../../../reconciler/controller/controller.ts';
import { Hub } from '../../../reconciler/controller/hub.ts';
import { listenFor, type Api } from '../../../reconciler/controller/serve.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

let api: Api | undefined;
afterEach(() => api?.close());

const folder = tempFolder('gantry-serve-');
writeFileSync(join(folder, 'secret'), 'of-the-webhook');
writeFileSync(join(folder, 'hosts.yaml'), 'kind: hosts\nhosts: [{ name: h1, address: "unix:///none" }]\n');

async function configWith(webhook: string): Promise<ControllerConfig> {
  const file = join(folder, 'gantry.yaml');
  const source = `{ name: site, directory: { path: . }${webhook} }`;
  writeFileSync(
    file,
    `controller: { listen: "127.0.0.1:0", anonymous: view }
hosts: { file: hosts.yaml }
sources: [${source}]
sets: [{ name: web, source: site }]
`,
  );
  const { config, diagnostics } = await readConfig(file);
  return config ?? expect.fail(diagnostics.map(({ message }) => message).join('; '));
}

async function send(body: string): Promise<number> {
  const signature = createHmac('sha256', 'of-the-webhook').update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-gitea-signature': signature };
  return (await fetch(`${api?.url ?? ''}/api/v1/webhooks/site`, { method: 'POST', body, headers })).status;
}

test('a reload keeps the second look that webhooks asked for, and takes new settings of webhooks', async () => {
  const looks: string[] = [];
  const controller: Pick<Controller, 'lookAt' | 'subscribe'> = {
    lookAt: (source) => looks.push(source) > 0,
    subscribe: () => () => {},
  };
  const config = await configWith(', webhook: { provider: gitea, secretFile: secret }');
  api = await listenFor(config, controller as Controller, new Hub(), '');
  expect([await send('{"push":1}'), await send('{"push":2}'), looks.length]).toEqual([202, 202, 1]);
  (await api.prepare(await configWith(', webhook: { provider: gitea, secretFile: ./secret }')))();
  await until(() => looks.length === 2);
  (await api.prepare(await configWith('')))();
  expect(await send('{"push":3}')).toBe(404);
});

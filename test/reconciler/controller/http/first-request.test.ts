// A client that waits for a controller to start: its first request may arrive as soon as the port is open.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, startHttp, type Reply } from '../../../support/controller/http-harness.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('a request that arrives as soon as the port is open is answered, while the files of the page are many', async () => {
  const page = tempFolder('gantry-page-');
  for (let at = 0; at < 500; at += 1) writeFileSync(join(page, `${at}.js`), 'x'.repeat(5000));
  const port = await freePort();
  const starting = startHttp({ listen: `127.0.0.1:${port}`, pageDirectory: page });
  const first = async (): Promise<Reply> => {
    for (;;) {
      const reply = await ask(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
      if (reply !== undefined) return reply;
    }
  };
  try {
    const silence = new Promise((resolve) => setTimeout(resolve, 5000, 'no answer'));
    expect(await Promise.race([first(), silence])).toMatchObject({ status: 200 });
  } finally {
    await (await starting).close();
  }
});

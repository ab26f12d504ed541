// Uploads images, every second one in two files; a download must return the same bytes.
import { randomBytes } from 'node:crypto';
import { call, type Answer } from '../../support/daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { sha256 } from '../../support/images/remotes.ts';
import { splitUpload } from '../../support/images/split-upload.ts';
import type { Random } from '../../support/random.ts';
import { request } from './setting.ts';
import type { Writer } from './writer.ts';

const largestBytes = 300_000;

export const imageWriter: Writer = {
  kind: 'images',
  async write(server, serial, random) {
    const { body, headers, fingerprint } = imageOf(serial, random);
    await request(server, 'POST', '/1.0/images', body, headers);
    return {
      what: `image ${fingerprint}`,
      async check(cut) {
        const answer = await call(cut, 'GET', `/1.0/images/${fingerprint}/export`);
        if (answer.status !== 200) return answer.bytes.toString();
        return isWhole(answer, fingerprint) ? undefined : `its export has ${answer.bytes.length} other bytes`;
      },
    };
  },
};

function imageOf(serial: number, random: Random) {
  const content = randomBytes(1 + Math.floor(random.next() * largestBytes)).toString('latin1');
  const metadata = { ...metadataFile, content: `${goodMetadata}properties: {serial: "${serial}"}\n` };
  const file = { name: 'rootfs/content', content };
  if (serial % 2 === 0) {
    const body = tarOf(metadata, rootfsDirectory, file);
    return { body, headers: {}, fingerprint: sha256(body) };
  }
  const parts = [tarOf(metadata), tarOf({ name: 'content', content })] as const;
  return { ...splitUpload(...parts), fingerprint: sha256(...parts) };
}

/** A split image arrives as a form with its files unchanged. */
function isWhole({ headers, bytes }: Answer, fingerprint: string): boolean {
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return sha256(bytes) === fingerprint;
  const text = bytes.toString('latin1');
  const parts = text.split(`--${boundary}`).slice(1, -1);
  return (
    sha256(...parts.map((part) => Buffer.from(part.slice(part.indexOf('\r\n\r\n') + 4, -2), 'latin1'))) === fingerprint
  );
}

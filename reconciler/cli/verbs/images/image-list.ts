// `gantry image list`: the images of a server, newest last.
import type { Run } from '../../session/context.ts';
import { formatBytes } from '../../../../server/api/text/byte-size.ts';
import type { Image } from '../../../../server/api/image/image.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { paintFor } from '../../output/paint.ts';
import { withClient } from '../../session/connect.ts';
import { utcSecond } from '../../../core/text/times.ts';
import { renderTable } from '../../output/table.ts';

export const listImages: Run<HostOptions> = async (context, wanted) => {
  await withClient(context, async (client) => {
    const images = (await client.list('image', context.stop))
      .filter((image) => wanted.every((text) => mentions(image, text)))
      .toSorted((a, b) => (a.uploaded_at < b.uploaded_at ? -1 : 1));
    if (context.isJson) return context.jsonObjects(images);
    const head = ['ALIAS', 'FINGERPRINT', 'PUBLIC', 'DESCRIPTION', 'ARCHITECTURE', 'SIZE', 'UPLOADED'];
    context.out(renderTable(head, images.map(rowOf), paintFor(context.color)));
  });
};

const mentions = ({ fingerprint, aliases, properties }: Image, text: string): boolean =>
  fingerprint.startsWith(text) ||
  aliases.some(({ name }) => name.includes(text)) ||
  Object.entries(properties).some(([key, value]) => value.includes(text) || `${key}=${value}` === text);

const rowOf = (image: Image): readonly string[] => [
  image.aliases.map(({ name }) => name).join(', '),
  image.fingerprint.slice(0, 12),
  image.public ? 'yes' : 'no',
  image.properties['description'] ?? '',
  image.architecture,
  formatBytes(image.size),
  utcSecond(image.uploaded_at),
];

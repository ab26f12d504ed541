// Changes headers of tar archives: the checksum, and the size with the content that follows. Pure.
const blockBytes = 512;

export function sealed(header: Buffer): Buffer {
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** A member with other content, at most 8 GiB: a header like this one, the content, padding. */
export function withContent(header: Buffer, content: Buffer): Buffer {
  const changed = Buffer.from(header);
  changed.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  const padding = Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes);
  return Buffer.concat([sealed(changed), content, padding]);
}

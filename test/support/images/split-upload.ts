// The request body that uploads an image in two files.

export interface SplitUpload {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export function splitUpload(metadata: Buffer, rootfs: Buffer): SplitUpload {
  const boundary = 'frontier';
  const part = (name: string, bytes: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\n`),
      Buffer.from('Content-Type: application/octet-stream\r\n\r\n'),
      bytes,
      Buffer.from('\r\n'),
    ]);
  return {
    body: Buffer.concat([part('metadata', metadata), part('rootfs', rootfs), Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

// An image as clients see it. Pure.
import type { Image } from '../../api/image/image.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { ImageDocument, ImageSourceDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export function renderImage(
  { name, document }: Entry<ImageDocument>,
  aliases: readonly { readonly name: string; readonly description: string }[],
  locations?: readonly string[],
): Image {
  return {
    fingerprint: plainName(name),
    project: projectOf(name),
    aliases: aliases.map((alias) => ({ ...alias })),
    architecture: document.architecture,
    auto_update: document.autoUpdate,
    cached: document.cached,
    filename: document.filename,
    properties: { ...document.properties },
    ...(document.source === undefined ? {} : { update_source: sourceOf(document.source) }),
    public: document.public,
    size: document.sizeBytes,
    created_at: document.createdAt,
    expires_at: document.expiresAt,
    last_used_at: document.lastUsedAt,
    uploaded_at: document.uploadedAt,
    ...(locations === undefined ? {} : { locations: [...locations] }),
  };
}

function sourceOf({
  server,
  protocol,
  certificate,
  alias,
  project,
}: ImageSourceDocument): NonNullable<Image['update_source']> {
  return { server, protocol, certificate, alias, ...withoutUndefined({ project }) };
}

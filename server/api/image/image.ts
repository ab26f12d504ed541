// Images and aliases on the wire (spec 2.9, 2.10, 4.8).
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';

export const ImageAliasRef = Type.Object({ name: Type.String(), description: Type.Optional(Type.String()) });

export const Image = Type.Object({
  fingerprint: Type.String(facts({ computed: true, doc: 'SHA-256 of the image files.' })),
  aliases: Type.Array(Type.Object({ name: Type.String(), description: Type.String() }), facts({ computed: true })),
  architecture: Type.String(facts({ computed: true })),
  auto_update: Type.Boolean(facts({ doc: 'The server fetches newer versions from its source automatically.' })),
  cached: Type.Boolean(facts({ computed: true })),
  filename: Type.String(facts({ immutable: true })),
  properties: Type.Record(Type.String(), Type.String(), facts({ doc: 'Free facts about it, such as os and release.' })),
  update_source: Type.Optional(
    Type.Object({ server: Type.String(), protocol: Type.String(), certificate: Type.String(), alias: Type.String() }),
  ),
  public: Type.Boolean(facts({ doc: 'Clients without trust may fetch it.' })),
  size: Type.Integer(facts({ computed: true, doc: 'Bytes of the image files.' })),
  created_at: Type.String(facts({ computed: true })),
  expires_at: Type.String(facts({ computed: true })),
  last_used_at: Type.String(facts({ computed: true })),
  uploaded_at: Type.String(facts({ computed: true })),
  project: Type.Optional(Type.String(facts({ computed: true, doc: 'The project that it belongs to.' }))),
  locations: Type.Optional(
    Type.Array(Type.String(), facts({ computed: true, doc: 'In a cluster: the members that have it.' })),
  ),
});
export type Image = Static<typeof Image>;

/** JSON form of POST /1.0/images; anything not JSON is a file upload. */
export const ImageCreate = Type.Object({
  filename: Type.Optional(Type.String()),
  public: Type.Optional(Type.Boolean()),
  auto_update: Type.Optional(Type.Boolean()),
  properties: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
  aliases: Type.Optional(Type.Array(ImageAliasRef, facts({ since: 'image_create_aliases' }))),
  copy_aliases: Type.Optional(
    Type.Boolean(facts({ doc: 'Also the aliases that the image has at its source, when they are free here.' })),
  ),
  compression_algorithm: Type.Optional(Type.String(facts({ since: 'image_compression_algorithm' }))),
  source: Type.Object({
    type: Type.String(),
    mode: Type.Optional(Type.String()),
    server: Type.Optional(Type.String()),
    protocol: Type.Optional(Type.String()),
    secret: Type.Optional(Type.String(facts({ secret: true }))),
    certificate: Type.Optional(Type.String()),
    fingerprint: Type.Optional(Type.String()),
    alias: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
    project: Type.Optional(
      Type.String(facts({ doc: 'Project of the source; without server: of this server, whose image is copied.' })),
    ),
  }),
});
export type ImageCreate = Static<typeof ImageCreate>;
/** Fields that manifests lack: they declare images of files and servers, which bring their own expiry. */
export const ImagePost = Type.Object({
  ...ImageCreate.properties,
  expires_at: Type.Optional(
    Type.Union([Type.String(), Type.Null()], facts({ doc: 'Of a published image; else as its metadata say.' })),
  ),
});
export type ImagePost = Static<typeof ImagePost>;

export const ImagePut = Type.Object({
  auto_update: Type.Optional(Type.Boolean()),
  public: Type.Optional(Type.Boolean()),
  properties: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
});
/** As ImagePost: manifests lack the expiry. */
export const ImageChange = Type.Object({
  ...ImagePut.properties,
  expires_at: Type.Optional(
    Type.Union([Type.String(), Type.Null()], facts({ doc: 'Stays when absent, empty or the zero time.' })),
  ),
});
export type ImageChange = Static<typeof ImageChange>;

export const ImageAlias = Type.Object({
  name: Type.String(facts({ immutable: true })),
  description: Type.String(facts({ effect: 'live' })),
  target: Type.String(facts({ doc: 'Image fingerprint.', effect: 'live' })),
});
export type ImageAlias = Static<typeof ImageAlias>;

export const ImageAliasCreate = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  target: Type.String(),
});
export const ImageAliasPut = Type.Object({
  description: Type.Optional(Type.String()),
  target: Type.Optional(Type.String()),
});
export type ImageAliasCreate = Static<typeof ImageAliasCreate>;
export type ImageAliasPut = Static<typeof ImageAliasPut>;

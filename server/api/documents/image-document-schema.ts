// The JSON Schema of an image source in a manifest: local files, another server or a URL.
import { facts } from '../schema/field.ts';
import { scalar, text, type JsonSchema } from '../schema/json-schema.ts';

export const imageFiles: JsonSchema = {
  file: { ...text, description: 'Image tarball, relative to the manifest.' },
  metadata: { ...text, description: 'Metadata tarball of a split image, relative to the manifest; with rootfs.' },
  rootfs: { ...text, description: 'Root file system of a split image, relative to the manifest; with metadata.' },
  aliases: {
    type: 'array',
    description: 'Names on the server that point at this image.',
    items: {
      anyOf: [
        text,
        {
          type: 'object',
          properties: {
            name: { ...text, description: 'The alias.' },
            description: { ...text, description: 'Free text for people.' },
          },
          required: ['name'],
          additionalProperties: false,
        },
      ],
    },
  },
};

export const imageSource: JsonSchema = {
  type: 'object',
  description:
    'Where the server fetches the image, instead of files: another server or a URL. It is fetched once; gantry update looks for a newer image.',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: { enum: ['image', 'url'], description: 'image: an image of another server. url: the image at a URL.' },
    url: { ...text, description: 'For type url: the URL. Its response names the image.' },
    server: { ...text, description: 'For type image: https://HOST[:PORT], or unix:///PATH of a local socket.' },
    protocol: { enum: ['simplestreams', 'lxd', 'svc'], description: 'Protocol of the server; default: lxd.' },
    alias: { ...text, description: 'Name of the image on that server.' },
    fingerprint: {
      ...scalar,
      description: 'Fingerprint of the image. With alias or url: the fingerprint that the image must have.',
    },
    certificate: { ...text, description: 'PEM of the only certificate that is accepted.' },
    secret: { ...text, description: 'Secret that gives access to a private image.', ...facts({ secret: true }) },
    mode: { enum: ['pull'], description: 'The server fetches the image; there is no other mode.' },
  },
};

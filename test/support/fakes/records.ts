// Records of images, containers and members as a store holds them; a test says what matters to it.
import type { ContainerDocument, ImageDocument } from '../../../server/records/documents.ts';
import type { MemberDocument } from '../../../server/records/cluster-documents.ts';

const never = '1970-01-01T00:00:00Z';

export const imageRecord = (part: Partial<ImageDocument> = {}): ImageDocument => ({
  v: 1,
  architecture: 'x86_64',
  filename: '',
  properties: {},
  public: false,
  autoUpdate: false,
  cached: false,
  sizeBytes: 5,
  createdAt: never,
  expiresAt: never,
  lastUsedAt: never,
  uploadedAt: never,
  split: false,
  lifecycle: 'ready',
  ...part,
});

export const containerRecord = (part: Partial<ContainerDocument> = {}): ContainerDocument => ({
  v: 1,
  uuid: 'c-uuid',
  architecture: 'x86_64',
  profiles: [],
  ephemeral: false,
  config: {},
  devices: {},
  description: '',
  createdAt: '',
  lastUsedAt: '',
  stateful: false,
  pool: 'p',
  lifecycle: 'ready',
  ...part,
});

export const memberRecord = (number: number, part: Partial<MemberDocument> = {}): MemberDocument => ({
  v: 1,
  number,
  address: `127.0.0.1:${number}`,
  architecture: 'x86_64',
  joinedAt: never,
  certificate: '',
  ...part,
});

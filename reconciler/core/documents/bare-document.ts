// A document that holds only the identity of an object, for decisions without a manifest. Pure.
import type { KindName } from '../../../server/api/kinds.ts';
import { addressOf, defaultManage, type Document } from './document.ts';

/** `name`: the API name, which for images and certificates is the fingerprint. */
export const bareDocument = (kind: KindName, name: string): Document => ({
  kind,
  name,
  address: addressOf(kind, name),
  location: { file: '', line: 0, column: 0 },
  values: {},
  manage: defaultManage,
});

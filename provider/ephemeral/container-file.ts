// Ephemeral gantry_container_file: the content of a file in a running container, which is in no state or plan.
import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { isNotFound } from '../../server/client/client-error.ts';
import { discard } from '../../server/client/files/file-helpers.ts';
import { integer, text } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import { absolutePath } from '../resources/container/container-attributes.ts';
import { filesIn } from '../resources/container/container-files.ts';
import { containerToOpen, gantryEphemeral, triggersToOpen } from './shared.ts';

const maxBytes = 1024 * 1024;

export const containerFileEphemeral = gantryEphemeral({
  typeName: 'gantry_container_file',
  doc: 'The content of a file in a container, such as a token that a program wrote. Terraform reads it whenever it needs it, at plans and at applies, and never stores it: use it in provider blocks and in write-only arguments.',
  attributes: {
    container: containerToOpen('Name of the container.'),
    path: text({ doc: 'Absolute path of the file in the container.', required: true, check: absolutePath }),
    triggers: triggersToOpen,
    content: text({ doc: 'The content, if it is UTF-8 text.', computed: true, sensitive: true }),
    content_base64: text({ doc: 'The content in base64.', computed: true, sensitive: true }),
    sha256: text({ doc: 'SHA-256 of the content.', computed: true, sensitive: true }),
    mode: text({ doc: 'Permissions, octal.', computed: true }),
    uid: integer({ doc: 'User id of the owner, in the container.', computed: true }),
    gid: integer({ doc: 'Group id, in the container.', computed: true }),
  },
  async open({ container, path }, context) {
    const entry = await filesIn(context, container)
      .read(path, context.signal)
      .catch((error: unknown) => {
        if (isNotFound(error)) throw missing(container, path, error);
        throw error;
      });
    if (entry.type !== 'file') {
      discard(entry);
      const detail = `It is a ${entry.type}. Name a file.`;
      throw new DiagnosticError([failure(`${path} in ${container} is not a file`, detail, at('path'))]);
    }
    const bytes = await readWhole(entry.body as AsyncIterable<Buffer>, `${path} in ${container}`);
    const mode = `0${(entry.mode & 0o7777).toString(8).padStart(3, '0')}`;
    const values = {
      content: isUtf8(bytes) ? bytes.toString('utf8') : null,
      content_base64: bytes.toString('base64'),
      sha256: createHash('sha256').update(bytes).digest('hex'),
    };
    return { values: { ...values, mode, uid: entry.uid, gid: entry.gid } };
  },
});

function missing(container: string, path: string, cause: unknown): DiagnosticError {
  const detail =
    'Either the container or the file does not exist. If the same apply creates them, put an attribute that is known only after apply into triggers, such as created_at of the container: the file is then read after the creation.';
  return new DiagnosticError(
    [failure(`There is no file ${path} in a container ${container}`, detail, at('path'))],
    cause,
  );
}

async function readWhole(body: AsyncIterable<Buffer>, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) {
      const detail = 'An ephemeral file has at most 1 MiB.';
      throw new DiagnosticError([failure(`${what} is too large`, detail, at('path'))]);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

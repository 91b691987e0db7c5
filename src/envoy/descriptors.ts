// The one file of this room that reads a file: the descriptors are a part of the program, not an input.
// eslint-disable-next-line no-restricted-imports
import { readFileSync } from 'node:fs'
import { createFileRegistry, fromBinary, type DescMessage, type FileRegistry } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'

let loaded: FileRegistry | undefined

/** Envoy's API as descriptors, read on first use (about 0.1 s). */
export function registry(): FileRegistry {
  loaded ??= createFileRegistry(
    fromBinary(FileDescriptorSetSchema, readFileSync(new URL('./envoy.binpb', import.meta.url))),
  )
  return loaded
}

/** `type.googleapis.com/` and whatever else stands before the message's full name. */
export function typeNameOf(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
}

/** The descriptor of a message by full name. Throws when the set has no such message (a bug). */
export function descriptorOf(typeName: string): DescMessage {
  const descriptor = registry().getMessage(typeName)
  if (!descriptor) throw new Error(`no message ${typeName} in Envoy's descriptors`)
  return descriptor
}

// The files that are attached to the next message, those that are being uploaded, and those that could not be.
import { Callout } from '../../components/Callout.tsx';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { visibleText } from '../../components/visibleText.ts';
import { errorText } from '../../texts/errors.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { AttachedFile, FailedUpload, RunningUpload } from './attachments.ts';

interface AttachmentsProps {
  readonly files: readonly AttachedFile[];
  readonly running: readonly RunningUpload[];
  readonly onRemove: (file: AttachedFile) => void;
}

export function Attachments({ files, running, onRemove }: AttachmentsProps) {
  const { conversation } = useTexts();
  if (files.length + running.length === 0) return null;
  return (
    <ul className="attachments">
      {files.map((file) => (
        <li key={file.path} title={visibleText(file.path)}>
          <Icon name="file" />
          <span className="attachment-name">{visibleText(file.name)}</span>
          <IconButton
            icon="close"
            label={conversation.removeFile(visibleText(file.name))}
            onClick={() => onRemove(file)}
          />
        </li>
      ))}
      {running.map(({ key, name, stop }) => (
        <li key={key}>
          <span className="spinner" />
          <span className="attachment-name" role="status">
            {conversation.uploading(visibleText(name))}
          </span>
          <IconButton icon="close" label={conversation.cancelUpload(visibleText(name))} onClick={stop} />
        </li>
      ))}
    </ul>
  );
}

interface FailedUploadsProps {
  readonly failed: readonly FailedUpload[];
  readonly onClose: () => void;
}

export function FailedUploads({ failed, onClose }: FailedUploadsProps) {
  const texts = useTexts();
  if (failed.length === 0) return null;
  return (
    <Callout kind="error">
      {failed.map(({ name, error }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be there twice
        <p key={i}>
          {texts.conversation.notUploaded(visibleText(name))}{' '}
          {typeof error === 'string' ? visibleText(error) : errorText(error, texts)}
        </p>
      ))}
      <button type="button" className="link-button" onClick={onClose}>
        {texts.shell.close}
      </button>
    </Callout>
  );
}

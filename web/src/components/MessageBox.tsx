// The text box for a message, with images and other files by paste, drop and file picker. Ctrl or Cmd with Enter sends
// it.
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useRef,
  useState,
} from 'react';
import { useTexts } from '../texts/texts.tsx';
import type { IconName } from './Icon.tsx';
import { IconButton } from './IconButton.tsx';
import {
  appendImages,
  hasFiles,
  type ImageError,
  type PickedImage,
  pastedFiles,
  readImages,
} from './images.ts';
import { ZoomableImage } from './ZoomableImage.tsx';

type Images = readonly PickedImage[];

interface MessageBoxProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly images: Images;
  readonly onText: (text: string) => void;
  /** Receives a function of the newest images, because they may change while files are being read. */
  readonly onImages: (change: (newest: Images) => Images) => void;
  /** Receives files that are not images, and all from its own button. Absent: only images can be added. */
  readonly onFiles?: (files: readonly File[]) => void;
  /** The list of attached files. */
  readonly attachments?: ReactNode;
  readonly onSend: () => void;
  readonly rows: number;
  readonly box?: Ref<HTMLTextAreaElement>;
  /** Rendered beside the button that adds images. */
  readonly children: ReactNode;
}

function Previews({ images, onImages }: Pick<MessageBoxProps, 'images' | 'onImages'>) {
  const { home } = useTexts();
  if (images.length === 0) return null;
  return (
    <ul className="previews">
      {images.map((image, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
        <li key={i}>
          <ZoomableImage src={image.url} name={image.name || home.image(i + 1)} />
          <IconButton
            icon="close"
            label={home.removeImage(image.name || home.image(i + 1))}
            className=""
            onClick={() => onImages((newest) => newest.filter((other) => other !== image))}
          />
        </li>
      ))}
    </ul>
  );
}

/** Adds all of the files, or none and the reason. */
function useAddImages(onImages: MessageBoxProps['onImages']) {
  const [error, setError] = useState<ImageError>();

  async function addFiles(files: readonly File[]) {
    if (files.length === 0) return;
    const added = await readImages(files);
    if (typeof added === 'string') return setError(added);
    let refused: ImageError | undefined;
    onImages((newest) => {
      const all = appendImages(newest, added);
      refused = typeof all === 'string' ? all : undefined;
      return typeof all === 'string' ? newest : all;
    });
    setError(refused);
  }

  return { error, addFiles };
}

/** `over` is true while files are dragged over the box. */
function useFileDrop(addFiles: (files: readonly File[]) => Promise<void>) {
  const [over, setOver] = useState(false);
  const onFiles = (react: (event: DragEvent) => void) => (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    react(event);
  };
  const handlers = {
    onDragOver: onFiles(() => setOver(true)),
    onDragLeave: () => setOver(false),
    onDrop: onFiles(({ dataTransfer }) => {
      setOver(false);
      void addFiles([...dataTransfer.files]);
    }),
  };
  return { over, handlers };
}

interface FilePickerProps {
  readonly icon: IconName;
  readonly label: string;
  /** The type of the files. Absent: any. */
  readonly accept?: string;
  readonly onPicked: (files: readonly File[]) => void;
}

function FilePicker({ icon, label, accept, onPicked }: FilePickerProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        className="visually-hidden"
        type="file"
        accept={accept}
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          onPicked([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
      <IconButton icon={icon} label={label} onClick={() => picker.current?.click()} />
    </>
  );
}

export function MessageBox(props: MessageBoxProps) {
  const { label, placeholder, text, images, onText, onImages, onSend, rows, box, children } = props;
  const { onFiles, attachments } = props;
  const { home } = useTexts();
  const { error, addFiles: addImages } = useAddImages(onImages);
  /** Images are part of the message, if that is possible. */
  async function addFiles(files: readonly File[]) {
    if (onFiles === undefined) return addImages(files);
    const { true: pictures = [], false: others = [] } = Object.groupBy(files, ({ type }) =>
      String(type.startsWith('image/')),
    );
    if (others.length > 0) onFiles(others);
    await addImages(pictures);
  }
  const { over, handlers } = useFileDrop(addFiles);

  function onPaste(event: ClipboardEvent) {
    const files = pastedFiles(event.clipboardData);
    if (files.length === 0) return;
    event.preventDefault();
    void addFiles(files);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onSend();
  }

  return (
    <div className={over ? 'message-box drag-over' : 'message-box'} {...handlers}>
      <textarea
        ref={box}
        aria-label={label}
        placeholder={over ? (onFiles ? home.dropFilesHere : home.dropHere) : placeholder}
        rows={rows}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onPaste={onPaste}
        onKeyDown={onKeyDown}
      />
      <Previews images={images} onImages={onImages} />
      {attachments}
      {error === undefined ? null : (
        <p className="field-error" role="alert">
          {home[error]}
        </p>
      )}
      <div className="row">
        <FilePicker icon="image" label={home.addImages} accept="image/*" onPicked={addImages} />
        {onFiles === undefined ? null : (
          <FilePicker icon="attach" label={home.attachFiles} onPicked={onFiles} />
        )}
        {children}
      </div>
    </div>
  );
}

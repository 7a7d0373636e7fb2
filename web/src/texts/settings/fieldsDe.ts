// The settings as form fields, in German.
import type { AllFieldTexts } from './fieldsEn.ts';

export const fieldsDe: AllFieldTexts = {
  llm_model: {
    label: 'Modell',
    hint: 'Anbieter und Modell, zum Beispiel anthropic/claude-sonnet-4-5. Sie können auch Modelle eingeben, die nicht in der Liste stehen.',
    default: 'keines. Agenten benötigen ein Modell',
  },
  llm_api_key: { label: 'API-Schlüssel', hint: 'Der Schlüssel gelangt nie in die Sandbox eines Agenten.' },
  llm_base_url: {
    label: 'Basis-URL',
    hint: 'Nur für einen eigenen Server mit einer OpenAI-kompatiblen Chat-Completions-API.',
    default: 'die URL des Anbieters',
  },
  max_iterations: {
    label: 'Maximale Iterationen',
    hint: 'Der Agent stoppt nach dieser Anzahl von Modellanfragen pro Nachricht. 1 bis 100.000.',
    default: 'kein Limit',
  },
  max_budget_per_task: {
    label: 'Maximale Kosten pro Gespräch (USD)',
    hint: 'Das Gespräch stoppt, sobald seine Modellanfragen diesen Betrag gekostet haben.',
    default: 'kein Limit',
  },
  enable_default_condenser: {
    label: 'Lange Gespräche zusammenfassen',
    hint: 'Ersetzt die ältesten Nachrichten durch eine Zusammenfassung, wenn das Gespräch für das Modell zu lang wird.',
    default: 'an',
  },
  agent: {
    label: 'Agent',
    hint: 'Andere Agenten als der integrierte müssen dort installiert sein, wo Parley läuft.',
    default: 'der integrierte Agent',
  },
  confirmation_mode: {
    label: 'Freigabe verlangen',
    hint: 'Befehle, Änderungen an Dateien und Tool-Aufrufe warten auf Ihre Freigabe.',
    default: 'aus',
  },
  security_analyzer: {
    label: 'Freigabepflichtige Aktionen',
    hint: 'Gilt nur, wenn eine Freigabe verlangt wird.',
    default: 'jede Aktion',
  },
  sandbox_runtime_container_image: {
    label: 'Container-Image',
    hint: 'Nur für Docker-Sandboxen. Der Betreiber muss das Image erlauben.',
    default: 'das Image, das der Betreiber festgelegt hat',
  },
  remote_runtime_resource_factor: {
    label: 'Ressourcenfaktor',
    hint: 'Multipliziert die Limits eines Agenten für Arbeitsspeicher und Prozesse. 1 bis 16.',
    default: '1',
  },
  language: {
    label: 'Sprache',
    hint: 'Die Sprache, in der Agenten antworten, und die Sprache dieser Weboberfläche (Englisch oder Deutsch).',
    default: 'Englisch',
  },
  enable_sound_notifications: {
    label: 'Benachrichtigungstöne',
    hint: 'Spielt einen Ton ab, wenn ein Agent fertig ist oder auf eine Eingabe wartet.',
    default: 'aus',
  },
  email: { label: 'E-Mail', hint: 'Ihre E-Mail-Adresse.', default: 'keine' },
  enable_proactive_conversation_starters: {
    label: 'Gespräche vorschlagen',
    hint: 'Erlaubt Clients, Aufgaben vorzuschlagen, die sie gefunden haben.',
    default: 'an',
  },
  enable_solvability_analysis: {
    label: 'Lösbarkeitsanalyse',
    hint: 'Erlaubt Clients, zu analysieren, ob ein Issue lösbar ist.',
    default: 'an',
  },
  user_consents_to_analytics: {
    label: 'Einwilligung in Nutzungsanalysen',
    hint: 'Parley selbst erhebt keine Nutzungsdaten.',
    default: 'nicht beantwortet',
  },
  sandbox_base_container_image: {
    label: 'Basis-Image',
    hint: 'Das Image, aus dem andere Clients eine Sandbox bauen.',
    default: 'keines',
  },
  sandbox_api_key: { label: 'API-Schlüssel der Sandbox', hint: 'Für gehostete Sandboxen.' },
  git_user_name: {
    label: 'Git-Benutzername',
    hint: 'Der Autor von Commits, die Agenten erstellen.',
    default: 'parley',
  },
  git_user_email: {
    label: 'Git-E-Mail-Adresse',
    hint: 'Die E-Mail-Adresse des Commit-Autors.',
    default: 'parley@localhost',
  },
  search_api_key: { label: 'Tavily-API-Schlüssel', hint: 'Damit können Agenten im Web suchen.' },
};

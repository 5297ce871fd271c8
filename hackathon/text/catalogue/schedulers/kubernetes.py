"""Messages of `hackathon.schedulers.kubernetes`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # a profile or a request that gives no job
    "incomplete": (
        "The cluster profile has no `dialect.{key}`, so no pod can run the job.",
        "クラスタ定義に `dialect.{key}` がないため、ジョブの Pod を作れません。",
    ),
    "incomplete_hint": (
        "Set `dialect.image` and `dialect.volume: {{claim: NAME, path: /FOLDER}}` in a copy of the profile.",
        "クラスタ定義のコピーで `dialect.image` と `dialect.volume: {{claim: 名前, path: /フォルダ}}` を設定してください。",
    ),
    "not_on_volume": (
        "{folder} is not on the volume that the pods mount ({path}).",
        "{folder} は、Pod がマウントするボリューム（{path}）上にありません。",
    ),
    "not_on_volume_hint": (
        "Move the project below {path}. The volume must be mounted there on this machine and in the pods alike.",
        "プロジェクトを {path} の下に移してください。ボリュームは、このマシンと Pod の両方で {path} にマウントされている必要があります。",
    ),
    "one_volume": (
        "`dialect.volume` for {path} needs exactly one of `claim` and `host_path`.",
        "{path} の `dialect.volume` には `claim` と `host_path` のどちらか一方だけを指定してください。",
    ),
    "queue_needed": (
        "Kueue needs a queue.",
        "Kueue を使うにはキューが必要です。",
    ),
    "queue_needed_hint": (
        "Name a LocalQueue: `--queue NAME`, or `queue:` in project.yaml or the cluster profile.",
        "LocalQueue を `--queue 名前`、または project.yaml かクラスタ定義の `queue:` で指定してください。",
    ),
    "queue_unused": (
        "Queue {queue} has no meaning here: `dialect.gang` is neither kueue nor volcano.",
        "キュー {queue} は使われません。`dialect.gang` が kueue でも volcano でもありません。",
    ),
    "queue_unused_hint": (
        "Leave out the queue, or set `dialect.gang` in the cluster profile. A namespace is `dialect.namespace`.",
        "キューの指定を外すか、クラスタ定義の `dialect.gang` を設定してください。名前空間は `dialect.namespace` で指定します。",
    ),
    "bad_value": (
        "`dialect.{name}` in the cluster profile: {value!r} is not allowed (it must match {pattern})",
        "クラスタ定義の `dialect.{name}`: {value!r} は使えません（形式: {pattern}）",
    ),
    "not_utf8": (
        "A name that goes into the manifest is not valid UTF-8: {value}",
        "マニフェストに書く名前が UTF-8 ではありません: {value}",
    ),
    "not_utf8_hint": (
        "Rename the folder of the project.",
        "プロジェクトのフォルダ名を変更してください。",
    ),
    # what kubectl and the server say
    "away": (
        "The Kubernetes API server does not answer: {words}",
        "Kubernetes の API サーバが応答しません: {words}",
    ),
    "away_hint": (
        "Try again in a few minutes. `kubectl config current-context` shows which cluster is asked.",
        "数分後にもう一度試してください。接続先のクラスタは `kubectl config current-context` で確認できます。",
    ),
    "unauthorized": (
        "The Kubernetes API server does not accept your credentials: {words}",
        "Kubernetes の API サーバで認証に失敗しました: {words}",
    ),
    "unauthorized_hint": (
        "Log in to the cluster again as your site says, then check `kubectl get pods`.",
        "サイトの手順でクラスタにログインし直し、`kubectl get pods` を確認してください。",
    ),
    "forbidden": (
        "The Kubernetes API server does not allow this: {words}",
        "Kubernetes の API サーバが許可していません: {words}",
    ),
    "forbidden_hint": (
        "Check `dialect.namespace` and its quota. You need the verbs create, get, list and delete on jobs and services, and get"
        " and list on pods: `kubectl auth can-i create jobs --namespace NAME`.",
        "`dialect.namespace` とその割り当て量を確認してください。jobs と services に対する create、get、list、delete と、pods に対する get、list の"
        "権限が必要です: `kubectl auth can-i create jobs --namespace 名前`。",
    ),
    "invalid": (
        "The Kubernetes API server does not accept the manifest: {words}",
        "Kubernetes の API サーバがマニフェストを受け付けません: {words}",
    ),
    "invalid_hint": (
        "`hackathon render --files` shows the manifest. Indexed Jobs need Kubernetes 1.24 or newer. If kubectl is older than"
        " the server and cannot read its schema, set `dialect.validation: false`.",
        "`hackathon render --files` でマニフェストを確認できます。Indexed Job には Kubernetes 1.24 以降が必要です。kubectl がサーバより古く"
        "スキーマを読めない場合は `dialect.validation: false` を設定してください。",
    ),
    "no_kind": (
        "The cluster does not have a kind of object that the job needs: {words}",
        "ジョブに必要な種類のオブジェクトがクラスタにありません: {words}",
    ),
    "no_kind_hint": (
        "Check `dialect.gang`: Kueue, Volcano or scheduler-plugins may not be installed there.",
        "`dialect.gang` を確認してください。Kueue、Volcano、scheduler-plugins が導入されていない可能性があります。",
    ),
}

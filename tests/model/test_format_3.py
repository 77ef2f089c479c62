"""Files of format 3, as the version that wrote them left them."""

import base64
import json
import zipfile
import zlib

import numpy as np
import pytest

from edgewise import AdaBoostMH, Lazy, ModelFileError, RankBoost, load
from edgewise.model import FORMAT_VERSION, read

X = (np.arange(12) * 7 % 12).astype(float).reshape(12, 1)
X = np.hstack([X, X[::-1] % 5])
Y = np.where(X[:, 0] % 5 + X[:, 1] > 4, "yes", "no")

# AdaBoostMH("stump", n_rounds=4, search=Lazy(1), random_state=0).fit(X, Y, eval_set=(X, Y))
CLASSIFIER = (
    "c-qZYUuYaf7{4>Ul3r_tTC||mbzjcH5p(&cX)70fP%%~m5?U>BnY*34n{;<(J2RX15|1hd?Sq0C6n!aq@}XG4m-?XS"
    "Qwazq*7_nC|D)9wsSiSsKKRY-zuT>qK!Ui*+|GPE-#5SC_iuM%yl2zSTyWi!`&I1vd1X^Br$!MZF0--IH!T>QD;j1E"
    "3uzIFIg*4?bFVQ}25B8h++>_!0g}0n7CA_WU|lo})0S-y!@}G@IcS!ZWCl6DetsBMhDn(g8)h4XFqtYE+76sYTqGG+"
    "$`9G-Va9|!@R-_cHZYPt#}-AdwnTl$(Q@Jd!jyz@Fam->wQ3Oo2HWA;CbpY6z=RyHg@P%jm^a(OyvBTL2UE!rp%&&G"
    "0BJ!Bxh|ni%V9zU5>H^?X4WxGnk^Y~C3fI3y$+uhjVT4k^&LqZRKpG+Y9L2oC8btKPw^Pg5(XzBwdt_d^AHE(Aye&T"
    "?eys6m_3jI02XZJq^{i91;2sn;0iK}ZFnHLkF}K02B8pTwHXMD&^<~PT31J!$d^IXOa~(l4pTxQeb?)fD(679;BGwH"
    "SzT)v9k*(PYNo>@fe73j9Az~)fCS%JV6OpN`uqCz7HUniTFMT!xC)gB^RnAz@g5K2fN4F2ha+k;*Ag<o8JHJ<zTOI5"
    "3#P!=il2jK+hM9+7XXkQfoVleJMhy94EZ&IT+dPJl@L25HMSh$l2n|MJc&uC9%Ei(B0)IABu?=^hPY<IWt2%_6$z{Z"
    "JkUQnGCVLiIugjFgy6)<lZ{pcH4K)Ck9&+_Dhc>Ab-Za4QRm<XGdfK&&*B&f4L^yBdIsKdMVu$0Ocj*|sDVVD?#iU="
    "J#E$*1*TMX<*mvZA%KF8lcJ+KNhd_*Q-NmmDZ1+G$Z=|@enfSfsbXg$)dcMehqf)kObyipbz=~H)N3z1IeB2>nS5?0"
    "H&?PT@Gk8&O8XlRl*&d4x(raE7UMQn@<((n8zs>~9)|V3L*+eXqhqY&DsJsLGyB`Z_tll#E`R*$!Z+1V{utg}c=pTc"
    "+qbXong8h9YMRGig%7vC4l^~j!l*OHcj><nAwz2<VpP^grI^cHY2eFq%TF)nAprRRc-XQxAOgndh5-Mr8b#vt6NfI%"
    "p1mC3gXf=T?pHJG)f2myj^4R+^y@g1@7?#={rvQm>cReZe|Yrbr8V2Rb>9c@e=*L4n|D>-dV~L7edqmK&i{Gpmo?jY"
    "Zc1G%aVEX^lCkXqy;7~5dS&^?Yd=*d^>r@3M|RTd)f4GJzPb3-xp|n)hZz`F=nVt;JgNMb8JGsU?~c5G5@shuu&mL5"
    "F1h}?udKiB|G7-=er>uP^{MSJWDC9*TFkLGqE~HDiSHPTDki<YYb?#>i^m5ajJRxpp<gfm9~xIbO&3nGo*2*Hw6o{N"
    "U(nI@LOz%Jp3drJUpk3iq0s#b%IamCe4=;0kZSo^#cY#J6kpz)YPng(Y*8nQPxYosJgb;3utf1%Z>rp~irGX@6whqQ"
    "rhQg7n^=i%yV#Xx6XS)=O56*7OW=_)4e)O;Ix_n"
)
# RankBoost(n_rounds=3).fit(X, (Y == "yes").astype(int))
RANKER = (
    "c-qZYUuYaf9KJMZnru;g=%d1V3a5C6TqBwk+buo>Ay^NginKD!?atm!vOBYxnY|=j&nkTqq<v@+rH_4Xk?NBaF=8pc"
    "1PVS?s<bMISg=sUM}ITBxBo&#NDwy+JNwP=oB4kKCf8mXpEyuUo+oQp-oJV7)_AR^hXqK;Jrc|;OU?$CUGEU75LHBA"
    "MLDY<vgewBx>%7e7nDdq215;j9SyPK0+9L}n613Rxm0z%<P)r7K@h{CA+R_I3{C^sxP)*4dyG!$VTo2_k{;vZKoSE}"
    "3CC;zbi%UXV6RK`F?JmXQ4c3m!ieZ@B=ZiBnU_oj=%TEP0xo5O^l?DF#5c=+M{mzis#hO+&>%dd3<vr^V-aBio}|(T"
    "dKXvd5G4UB2qLgM0!u+%y%6Fk!71}81BM0#rZP1T2o|7Qqf*6TR6w<8NP%X|&Kxv&h}ThvvO@R(<BTiL%*KY7Y{Aen"
    "@01J~5;`g}4Rz7S%qGHApfy6fJ)M!dM}40N!rWAC1W_|z1<ES&h+hIAeH(>M1m`MCg~vlARpM2~kRaRbnK-WZa12$|"
    "PY;xeL?z3(BXJl7n%<h3H5k+&K>-b^Dq7}AM!vvqTFLn`5gjf~Y|Zx?7Dkv*qq4JXQ{$2lPe<&f`MK6?YrzyL)MA7L"
    "!7@pH7FfLoH4(}zohb$hXJ#8yIl3n*3Ex&;P+y#Z9;OOyptDV-gu=*^4d^hH8Z(Le<`~l?E)IeYc2}gXa%<Qw-2j)r"
    "-M{!T%=FMVfaxPS!=jDz$Bw_&etWFeuMHX=k*;VQvKue^^Npt6fL;Y(7~;Ys8ecTR?1t>&h`{$VbIoU)_R!wJV|{b@"
    "KHB=^bLXSm?>>FxtIwPdZn9~<aMda6UwiK8g%4q-$9@<t58{yhg9G%1f9ZhT+L;U17|0oovgo%i+Q%LPSPv~az14Oh"
    ">h_B}6#eFL{ruvLqF>*nCns<Hp1qUx>rUdzU#G2$==R+&e$KLV{nF`c&FOni<Lu(f_s{?4JaJ?7@f)kxGW$F657Q?u"
    "{FG&L_~+|W-}(2Pr<UgjS04Fwn|(QOTMw=-oPpVyG}~zxJT!2pXzRbq_O>J+`SR8FsIwl0p?dIdrN;wrH@a&#<m&jQ"
    "ah^CjdY66JT;JLp`7jNm&lUL}$^XNtzS~P<dk&00{0GkHc~3WG;pa}3SG^W<-kyo#C0XTFucMsz^+f4%suHVLLQY)U"
    "Te={s#A-|A#7`$n4N@gm>oX^w+*hsEDz{n}IoF;lR7rbj@1%zJ!QWYM?8hnn^*2q{nVJ"
)

LATER = {"roc_auc", "balanced_accuracy", "columns", "saved"}


@pytest.fixture
def old(tmp_path):
    """Return a function that writes an old file and returns its path."""

    def write(text):
        path = tmp_path / "old"
        path.write_bytes(zlib.decompress(base64.b85decode(text)))
        with zipfile.ZipFile(path) as archive:
            assert json.loads(archive.read("model.json"))["format"] == 3
        return path

    return write


def test_a_classifier_of_format_3(old, tmp_path):
    model = load(old(CLASSIFIER))
    scores = [-0.10627527937763587, -0.8853648897383062, 0.8492361656498004, 0.10627527937763587,
              0.8492361656498004, 0.10627527937763587, -0.8853648897383062, 0.8492361656498004,
              0.10627527937763587, 0.8492361656498004, 0.10627527937763587,
              -0.8853648897383062]  # fmt: skip
    assert model.decision_function(X).tolist() == scores
    assert (model.n_rounds_, model.history_.n_rounds) == (4, 4)
    assert not LATER & set(model.history_)
    assert all(np.isnan(model.history_[name]).all() for name in LATER)
    assert np.isfinite(model.history_["validation"]).all()
    assert model._search_states == []
    # It goes on as a model of today does, and is written in the format of today.
    model.set_params(warm_start=True, n_rounds=8).fit(X, Y, eval_set=(X, Y))
    whole = AdaBoostMH("stump", n_rounds=8, search=Lazy(1), random_state=0)
    whole.fit(X, Y, eval_set=(X, Y))
    assert model.decision_function(X).tolist() == whole.decision_function(X).tolist()
    np.testing.assert_array_equal(model.history_["bound"], whole.history_["bound"])
    model.save(tmp_path / "new")
    assert read(tmp_path / "new")[0]["format"] == FORMAT_VERSION
    again = load(tmp_path / "new")
    np.testing.assert_array_equal(again.history_.to_array(), model.history_.to_array())


def test_a_ranker_of_format_3(old):
    model = load(old(RANKER))
    scores = [0.0, 0.0, 0.4576258127907301, 0.4576258127907301, 0.0, 0.0, 0.0, 0.4576258127907301,
              0.4576258127907301, 0.16094379124341007, 0.16094379124341007, 0.0]  # fmt: skip
    assert model.predict(X).tolist() == scores
    assert list(model.history_) == ["edge", "alpha", "energy", "bound", "ranking_loss"]
    assert np.isnan(model.history_["columns"]).all()
    model.set_params(warm_start=True, n_rounds=6).fit(X, (Y == "yes").astype(int))
    whole = RankBoost(n_rounds=6).fit(X, (Y == "yes").astype(int))
    assert model.predict(X).tolist() == whole.predict(X).tolist()


@pytest.mark.parametrize("text", [CLASSIFIER, RANKER], ids=["classifier", "ranker"])
@pytest.mark.parametrize("history", [None, 3, [], ["edge"], "edge"], ids=str)
def test_a_damaged_file_of_format_3(old, tmp_path, text, history):
    path, bad = old(text), tmp_path / "bad"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(bad, "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "model.json":
                content = json.dumps({**json.loads(content), "history": history})
            changed.writestr(name, content)
    with pytest.raises(ModelFileError):
        load(bad)
